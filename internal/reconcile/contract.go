package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// Key names one thing that is reconciled: a kind and a name, "application/shop-web".
type Key struct{ Kind, Name string }

// String is the key's wire form, kind and name joined by a slash.
func (k Key) String() string { return k.Kind + "/" + k.Name }

// LogValue logs a key in its wire form.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// ParseKey is the inverse of [Key.String].
func ParseKey(s string) (Key, error) {
	kind, name, ok := strings.Cut(s, "/")
	if !ok || kind == "" || name == "" {
		return Key{}, errors.New("a reconcile key is kind/name, got " + s)
	}
	return Key{kind, name}, nil
}

// Controller brings one key's observed state to its desired state, one pass at a time.
//
// Reconcile is level-triggered: it looks at the world as it is now and never
// trusts what an earlier pass did. It may be interrupted at any point and run
// again. It does not wait: what is not ready yet is a RequeueAfter. It returns
// its conditions also together with an error.
//
//	error          the engine runs the key again after a backoff that grows
//	RequeueAfter   the engine runs the key again after that time
//	neither        the key rests until an event or the slow resync
type Controller interface {
	Name() string
	Reconcile(ctx context.Context) (Result, error)
}

// Factory builds the controller of a key for one pass. A nil controller with
// a nil error means that the key no longer exists; the engine forgets it.
type Factory func(ctx context.Context, key Key) (Controller, error)

// Result is what one pass found.
type Result struct {
	Conditions []Condition
	// RequeueAfter asks for another pass after that time; 0 asks for none.
	RequeueAfter time.Duration
}

// ConditionStatus is True, False or Unknown; Unknown is not False.
type ConditionStatus string

// The three statuses.
const (
	True    ConditionStatus = "True"
	False   ConditionStatus = "False"
	Unknown ConditionStatus = "Unknown"
)

// Condition is one observed aspect of a key. Reason is never empty.
type Condition struct {
	Type    string          `json:"type"`
	Status  ConditionStatus `json:"status"`
	Reason  string          `json:"reason"`
	Message string          `json:"message,omitempty"`
	// LastTransitionTime changes only when Status or Reason do.
	LastTransitionTime time.Time `json:"last_transition_time"`
}

// ConditionReady is the type of the condition that says whether a key serves.
const ConditionReady = "Ready"

// ConditionStore persists conditions. The engine calls it only when something
// but the transition time changed; an error is logged and never fails a pass.
// The conditions given are all that the controller has: others of the same
// controller no longer hold.
type ConditionStore interface {
	GetConditions(ctx context.Context, controllerName string) ([]Condition, error)
	UpsertConditions(ctx context.Context, controllerName string, conditions []Condition) error
}
