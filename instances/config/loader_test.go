package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errNotFound     = errors.New("no object")
	errPrecondition = errors.New("another came first")
	errBroken       = errors.New("the store is away")
)

// objects is a store in memory. Before, when set, sees each call and may fail it or
// write in between; after fails it when its effect is there.
type objects struct {
	mu            sync.Mutex
	data          map[string][]byte
	tags          map[string]int
	puts          int
	before, after func(call string) error
}

func newObjects() *objects { return &objects{data: map[string][]byte{}, tags: map[string]int{}} }

func (o *objects) hook(f func(string) error, call string) error {
	if f == nil {
		return nil
	}
	return f(call)
}

func (o *objects) Get(ctx context.Context, key string) ([]byte, string, error) {
	if err := errors.Join(ctx.Err(), o.hook(o.before, "get")); err != nil {
		return nil, "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	data, ok := o.data[key]
	if !ok {
		return nil, "", fmt.Errorf("get %s: %w", key, errNotFound)
	}
	return data, strconv.Itoa(o.tags[key]), nil
}

func (o *objects) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if err := errors.Join(ctx.Err(), o.hook(o.before, "put")); err != nil {
		return "", err
	}
	newTag, err := o.put(key, data, &tag)
	if err != nil {
		return "", err
	}
	return newTag, o.hook(o.after, "put")
}

// put writes; a nil tag is without a condition.
func (o *objects) put(key string, data []byte, tag *string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	have := ""
	if _, ok := o.data[key]; ok {
		have = strconv.Itoa(o.tags[key])
	}
	if tag != nil && *tag != have {
		return "", fmt.Errorf("put %s: %w", key, errPrecondition)
	}
	o.puts++
	o.data[key] = data
	o.tags[key]++
	return strconv.Itoa(o.tags[key]), nil
}

const (
	textKey   = "shard/one/config.jsonc"
	groupsKey = "shard/one/groups.jsonc"
)

var loaderText = strings.Replace(with(`
"templates": {"t": {"kind": "abc", "arch": "amd64", "subnet_pool": "one"}, "bare": {"kind": "abc", "arch": "amd64"}},
"groups": {"acme": {"web": {"template": "t", "size": 1, "vars": {"a": "text", "b": "text"}}}},
`), `"name"`, `"subnet_pools": {"one": ["s1"], "two": ["s2"]}, "dynamic_subnet_pools": ["one"], "name"`, 1)

// rig is a loader on a store with a good text.
func rig(t *testing.T) (*Loader, *objects) {
	t.Helper()
	o := newObjects()
	if _, err := o.put(textKey, []byte(loaderText), nil); err != nil {
		t.Fatal(err)
	}
	return newLoader(t, o), o
}

func newLoader(t *testing.T, o *objects) *Loader {
	t.Helper()
	l, err := NewLoader(LoaderOptions{
		Source:  NewObject(o, textKey),
		Dynamic: &Dynamic{Objects: o, Key: groupsKey, NotFound: errNotFound, Precondition: errPrecondition},
		Now:     func() time.Time { return time.Unix(1e9, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func refresh(t *testing.T, l *Loader) {
	t.Helper()
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

var web, extra = GroupKey{"acme", "web"}, GroupKey{"acme", "extra"}

func size(n int) *int { return &n }

func TestBeforeAReadingNobodyKnowsAnything(t *testing.T) {
	l, _ := rig(t)
	if l.Current() != nil {
		t.Error("there is a configuration that was not read")
	}
	_, errGroup := l.Group(web)
	_, errMerge := l.Merge(MergeRequest{Tenant: "acme", Group: "web"})
	_, errUpsert := l.UpsertGroup(t.Context(), extra, Group{Template: "t"})
	for _, err := range []error{errGroup, errMerge, errUpsert} {
		if !errors.Is(err, ErrNotLoaded) || errors.Is(err, ErrGroupNotFound) {
			t.Errorf("%v", err)
		}
	}
}

// A group that is not there is told from one that could not be looked for, whatever
// went wrong.
func TestAReadingThatFailsKeepsTheLastGoodOneAndDeniesNoGroup(t *testing.T) {
	for name, spoil := range map[string]func(o *objects){
		"the store is away": func(o *objects) { o.before = func(string) error { return errBroken } },
		"no text":           func(o *objects) { delete(o.data, textKey) },
		"an empty text":     func(o *objects) { _, _ = o.put(textKey, nil, nil) },
		"a bad text":        func(o *objects) { _, _ = o.put(textKey, []byte(`{"groups": {}}`), nil) },
		"bad groups":        func(o *objects) { _, _ = o.put(groupsKey, []byte(`{"acme": {"web": {"sise": 1}}}`), nil) },
		"empty groups":      func(o *objects) { _, _ = o.put(groupsKey, []byte(""), nil) },
		"groups that vanish": func(o *objects) {
			delete(o.data, groupsKey)
		},
		"groups that go with nothing": func(o *objects) { _, _ = o.put(groupsKey, []byte(`{"acme": {"x": {"template": "gone"}}}`), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			l, o := rig(t)
			refresh(t, l)
			if _, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t"}); err != nil {
				t.Fatal(err)
			}
			refresh(t, l)
			good := l.Current()
			if _, err := l.Group(GroupKey{"acme", "nobody"}); !errors.Is(err, ErrGroupNotFound) {
				t.Errorf("a group that is not there: %v", err)
			}
			spoil(o)
			if err := l.Refresh(t.Context()); err == nil || l.Status().Err == nil {
				t.Fatal("the reading did not fail")
			}
			if l.Current() != good {
				t.Error("the last good one is not kept")
			}
			for _, key := range []GroupKey{web, extra} {
				if _, err := l.Group(key); err != nil {
					t.Errorf("%v: %v", key, err)
				}
			}
			if _, err := l.Group(GroupKey{"acme", "nobody"}); !errors.Is(err, ErrNotLoaded) || errors.Is(err, ErrGroupNotFound) {
				t.Errorf("a group that nobody could look for: %v", err)
			}
			if _, err := l.Merge(MergeRequest{Tenant: "acme", Group: "nobody"}); !errors.Is(err, ErrNotLoaded) {
				t.Errorf("its merge: %v", err)
			}
		})
	}
}

func TestAReadingThatSucceedsAgainIsTaken(t *testing.T) {
	l, o := rig(t)
	refresh(t, l)
	o.before = func(string) error { return errBroken }
	if err := l.Refresh(t.Context()); !errors.Is(err, errBroken) || !errors.Is(err, ErrNotLoaded) {
		t.Fatal(err)
	}
	o.before = nil
	kept := l.Current()
	refresh(t, l)
	if l.Status().Err != nil || l.Current() != kept {
		t.Error("the same text is taken for another")
	}
	if _, err := o.put(textKey, []byte(strings.Replace(loaderText, `"size": 1`, `"size": 7`, 1)), nil); err != nil {
		t.Fatal(err)
	}
	refresh(t, l)
	if m, err := l.Merge(MergeRequest{Tenant: "acme", Group: "web"}); err != nil || m.Size != 7 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestADynamicGroupChangesOfAGroupOfTheTextWhatItMay(t *testing.T) {
	l, _ := rig(t)
	refresh(t, l)
	d := Duration(0)
	for name, change := range map[string]Group{
		"template": {Template: "bare"}, "pool": {SubnetPool: "one"}, "args": {Args: map[string]any{}}, "drain": {DrainTimeout: &d},
	} {
		if _, err := l.UpsertGroup(t.Context(), web, change); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := l.UpsertGroup(t.Context(), web, Group{Size: size(0), InstanceType: "large", Vars: map[string]string{"b": "dynamic"}})
	want := Group{Template: "t", Size: size(0), InstanceType: "large", Vars: map[string]string{"a": "text", "b": "dynamic"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	// What is left out stays.
	got, err = l.UpsertGroup(t.Context(), web, Group{Vars: map[string]string{"c": "more"}})
	want.Vars["c"] = "more"
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := l.DeleteGroup(t.Context(), web); !errors.Is(err, ErrRefused) {
		t.Errorf("delete: %v", err)
	}
}

func TestAGroupOfItsOwnNeedsATemplateAndAPoolForIt(t *testing.T) {
	l, o := rig(t)
	refresh(t, l)
	for name, group := range map[string]Group{
		"no template":       {Size: size(1)},
		"an unknown one":    {Template: "x"},
		"no pool":           {Template: "bare"},
		"an unknown pool":   {Template: "bare", SubnetPool: "x"},
		"a pool of others":  {Template: "bare", SubnetPool: "two"},
		"a size":            {Template: "t", Size: size(-1)},
		"a variable's name": {Template: "t", Vars: map[string]string{"a b": ""}},
		"no JSON":           {Template: "t", Args: map[string]any{"f": func() {}}},
	} {
		if _, err := l.UpsertGroup(t.Context(), extra, group); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.UpsertGroup(t.Context(), GroupKey{"ACME", "x"}, Group{Template: "t"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a tenant's name: %v", err)
	}
	if o.puts != 1 { // the text
		t.Errorf("a refused group was written")
	}
	if _, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t", Args: map[string]any{"n": 1}}); err != nil {
		t.Fatal(err)
	}
	other := newLoader(t, o)
	refresh(t, other)
	if g, err := other.Group(extra); err != nil || g.Args["n"] != 1.0 {
		t.Errorf("another loader reads %+v, %v", g, err)
	}
	if err := l.DeleteGroup(t.Context(), extra); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{l.DeleteGroup(t.Context(), extra), func() error { _, err := l.Group(extra); return err }()} {
		if !errors.Is(err, ErrGroupNotFound) {
			t.Errorf("after the delete: %v", err)
		}
	}
	refresh(t, other)
	if _, err := other.Group(extra); !errors.Is(err, ErrGroupNotFound) {
		t.Errorf("another loader: %v", err)
	}
}

func TestTwoWhoChangeGroupsLoseNothing(t *testing.T) {
	_, o := rig(t)
	var wg sync.WaitGroup
	const writers = 4
	for i := range writers {
		l := newLoader(t, o)
		refresh(t, l)
		wg.Go(func() {
			for j := range 3 {
				key := GroupKey{"acme", fmt.Sprintf("g%d-%d", i, j)}
				for {
					_, err := l.UpsertGroup(t.Context(), key, Group{Template: "t"})
					if err == nil {
						break
					}
					if !errors.Is(err, ErrContended) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	l := newLoader(t, o)
	refresh(t, l)
	if n := len(l.Current().GroupKeys()); n != writers*3+1 {
		t.Errorf("%d groups", n)
	}
}

func TestAChangeGivesUpWhenOthersAlwaysComeFirst(t *testing.T) {
	l, o := rig(t)
	refresh(t, l)
	tried := 0
	o.before = func(call string) error {
		if call == "put" {
			tried++
			_, _ = o.put(groupsKey, []byte(fmt.Sprintf(`{"acme": {"web": {"size": %d}}}`, tried)), nil)
		}
		return nil
	}
	if _, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t"}); !errors.Is(err, ErrContended) || tried != attempts {
		t.Errorf("%v after %d attempts", err, tried)
	}
	if _, err := l.Group(extra); !errors.Is(err, ErrGroupNotFound) {
		t.Errorf("a change that was not made is seen: %v", err)
	}
}

// The answer to a write is lost: whoever asks again gets what was asked for, and
// the store is not written a second time.
func TestAChangeWhoseAnswerWasLostCanBeAskedForAgain(t *testing.T) {
	l, o := rig(t)
	refresh(t, l)
	o.after = func(string) error { return errBroken }
	if _, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t"}); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	o.after = nil
	puts := o.puts
	if g, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t"}); err != nil || g.Template != "t" || o.puts != puts {
		t.Errorf("%+v, %v, %d writes more", g, err, o.puts-puts)
	}
	if _, err := l.Group(extra); err != nil {
		t.Error(err)
	}
}

func TestAWaitForTheTurnEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, o := rig(t)
		release := make(chan struct{})
		o.before = func(string) error { <-release; return nil }
		done := make(chan error)
		go func() { done <- l.Refresh(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := l.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestALoaderWithoutDynamicGroupsHasThoseOfItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.jsonc")
	l, err := NewLoader(LoaderOptions{Source: NewFile(path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(t.Context()); !errors.Is(err, os.ErrNotExist) || !errors.Is(err, ErrNotLoaded) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(loaderText), 0o600); err != nil {
		t.Fatal(err)
	}
	refresh(t, l)
	if s := l.Status(); s.Tag == "" || s.LoadedAt.IsZero() || s.Err != nil {
		t.Errorf("%+v", s)
	}
	if _, err := l.UpsertGroup(t.Context(), extra, Group{Template: "t"}); !errors.Is(err, ErrRefused) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, make([]byte, MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(t.Context()); !errors.Is(err, ErrInvalid) || l.Current() == nil {
		t.Errorf("a file that is too large: %v", err)
	}
}

func TestALoaderSaysWhatItLacks(t *testing.T) {
	for name, opts := range map[string]LoaderOptions{
		"source": {},
		"errors": {Source: NewFile("x"), Dynamic: &Dynamic{Objects: newObjects(), Key: "x"}},
	} {
		if _, err := NewLoader(opts); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadersSeeAWholeConfigurationWhileItChanges(t *testing.T) {
	l, o := rig(t)
	refresh(t, l)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				m, err := l.Merge(MergeRequest{Tenant: "acme", Group: "web", Vars: map[string]string{"x": "y"}})
				if err != nil || m.Vars["a"] != m.Vars["b"] {
					t.Errorf("%+v, %v", m, err)
					return
				}
			}
		})
	}
	for i := range 100 {
		text := strings.ReplaceAll(loaderText, `"text"`, fmt.Sprintf(`"v%d"`, i))
		if _, err := o.put(textKey, []byte(text), nil); err != nil {
			t.Fatal(err)
		}
		refresh(t, l)
	}
	close(stop)
	wg.Wait()
}
