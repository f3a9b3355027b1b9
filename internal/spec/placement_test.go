package spec

import (
	"testing"
	"time"
)

func TestAnAppMovesUnlessItSaysOtherwiseOrHasVolumes(t *testing.T) {
	plain := func(p Placement) *Service { return &Service{Placement: p} }
	for name, c := range map[string]struct {
		services []*Service
		after    time.Duration
		moves    bool
	}{
		"nothing said":      {[]*Service{plain(Placement{})}, DefaultMoveAfter, true},
		"a time of its own": {[]*Service{plain(Placement{MoveAfter: time.Minute}), plain(Placement{MoveAfter: time.Minute})}, time.Minute, true},
		"kept":              {[]*Service{plain(Placement{Keep: true})}, 0, false},
		"one has a volume":  {[]*Service{plain(Placement{}), {Volumes: []Volume{{Name: "data", Path: "/data"}}}}, 0, false},
		"one reads a path":  {[]*Service{{Volumes: []Volume{{HostPath: "/srv", Path: "/data", ReadOnly: true}}}}, 0, false},
		"a member has a volume": {[]*Service{{Sidecars: []Member{{Name: "x", Volumes: []Volume{{Name: "data", Path: "/data"}}}}}},
			0, false},
	} {
		if after, moves := MovesAfter(c.services...); after != c.after || moves != c.moves {
			t.Errorf("%s: %s, %v; want %s, %v", name, after, moves, c.after, c.moves)
		}
	}
}

func TestEveryServiceOfAnAppHasItsPlacement(t *testing.T) {
	app, err := Parse([]byte("name: a\nnode: {labels: {disk: ssd}}\nservices: {x: {image: x}, y: {image: y}}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Placement{Labels: map[string]string{"disk": "ssd"}}
	x, y := app.Services["x"], app.Services["y"]
	if !x.Placement.Equal(want) || !y.Placement.Equal(want) {
		t.Fatalf("x: %+v, y: %+v", x.Placement, y.Placement)
	}
	x.Placement.Labels["disk"] = "none"
	if !y.Placement.Equal(want) {
		t.Error("a change of one service's labels changes another's")
	}
}

func TestPlacementsAreEqualWhenTheyAskForTheSame(t *testing.T) {
	for _, c := range []struct {
		a, b Placement
		want bool
	}{
		{Placement{}, Placement{MoveAfter: DefaultMoveAfter, Labels: map[string]string{}}, true},
		{Placement{Keep: true}, Placement{}, false},
		{Placement{Node: "a"}, Placement{Node: "b"}, false},
		{Placement{Labels: map[string]string{"a": "b"}}, Placement{Labels: map[string]string{"a": "c"}}, false},
		{Placement{Spread: true}, Placement{}, false},
		{Placement{MoveAfter: time.Minute}, Placement{}, false},
	} {
		if c.a.Equal(c.b) != c.want || c.b.Equal(c.a) != c.want {
			t.Errorf("%+v and %+v: equal is not %v", c.a, c.b, c.want)
		}
	}
}
