package instances_test

import (
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances"
)

// What is damaged in the store is never taken for what is not there: nothing is done with
// it, and the error names the object and what a person can do.
func TestAnObjectThatIsCutInHalfIsNamedAndNothingIsDoneByIt(t *testing.T) {
	for _, prefix := range []string{"shard/one/instance/", "shard/one/claim/"} {
		t.Run(prefix, func(t *testing.T) {
			w := newWorld(t)
			l := w.start()
			made, key := w.create(l, web()), newKey(t)
			_, err := w.register(l, made.RegistrationJWT, key)
			must(t, err)
			var damaged, whole string
			for damaged, whole = range w.objects(prefix) {
				_, err = w.memory.Put(t.Context(), damaged, []byte(whole[:len(whole)/2]))
				must(t, err)
			}
			named := strings.TrimPrefix(damaged, "shard/one/")
			_, renewed := w.register(l, made.RegistrationJWT, key)
			for what, err := range map[string]error{
				"delete": l.DeleteInstanceFor(t.Context(), "acme", made.InstanceID), "register": renewed,
			} {
				mustBe(t, err, instances.ErrRecord)
				if text := err.Error(); !strings.Contains(text, named) || !strings.Contains(text, "restore it") {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, _ = l.Collect(t.Context())
			if len(w.own()) != 1 {
				t.Error("the machine was removed")
			}
			_, err = w.memory.Put(t.Context(), damaged, []byte(whole))
			must(t, err)
			must(t, l.DeleteInstanceFor(t.Context(), "acme", made.InstanceID))
		})
	}
}

// A server that does not know yet that another one leads does no harm.
func TestAServerOfAnEarlierTermNeitherRegistersNorDeletes(t *testing.T) {
	w := newWorld(t)
	old := w.start()
	next := w.start()
	old.term.mu.Lock()
	old.term.lost = false
	old.term.mu.Unlock()
	made, key := w.create(next, web()), newKey(t)
	_, err := w.register(old, made.RegistrationJWT, key)
	mustBe(t, err, instances.ErrNotLeader)
	mustBe(t, old.DeleteInstanceFor(t.Context(), "acme", made.InstanceID), instances.ErrNotLeader)
	if len(w.own()) != 1 || len(w.objects("shard/one/denied/")) != 0 {
		t.Error("it deleted the machine, or denied it")
	}
	// The machine asks the one that leads, by the same key.
	got, err := w.register(next, made.RegistrationJWT, key)
	must(t, err)
	again, err := w.register(next, made.RegistrationJWT, key)
	if err != nil || string(again.CertificatePEM) != string(got.CertificatePEM) {
		t.Errorf("it has another certificate: %v", err)
	}
}
