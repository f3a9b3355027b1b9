package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite/sqlitetest"
)

// A durable write by one caller, and by many at once: the ratio of the two is
// what sharing a commit is worth.
func BenchmarkDurableWrite(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := sqlitetest.Open(b)
			work := make(chan int)
			done := make(chan error, callers)
			for range callers {
				go func() {
					var first error
					for i := range work {
						err := s.AppendTrace(b.Context(), store.TraceEvent{AttemptID: 1, Service: "shop-web", Message: fmt.Sprint(i)})
						if first == nil {
							first = err
						}
					}
					done <- first
				}()
			}
			b.ResetTimer()
			for i := range b.N {
				work <- i
			}
			close(work)
			for range callers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApplyChange(b *testing.B) {
	s := sqlitetest.Open(b)
	for i := range b.N {
		d := store.DesiredService{Name: "shop-web", Spec: spec.Service{Name: "web", Domains: []string{"shop.example"}}}
		_, err := s.ApplyChange(b.Context(), store.Change{AppID: "shop", Kind: store.AttemptApply, Now: time.Unix(int64(i), 0),
			Put: []store.DesiredService{d}, Actions: map[string]string{"shop-web": "update"}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// Conditions that changed are written; the same again is not.
func BenchmarkUpsertConditions(b *testing.B) {
	for _, same := range []bool{false, true} {
		b.Run(fmt.Sprintf("same=%v", same), func(b *testing.B) {
			s := sqlitetest.Open(b)
			for i := range b.N {
				c := reconcile.Condition{Type: "Ready", Status: reconcile.True, Reason: "Ready", LastTransitionTime: time.Unix(0, 0)}
				if !same {
					c.Message = fmt.Sprint(i)
				}
				if err := s.UpsertConditions(b.Context(), "application/shop-web", []reconcile.Condition{c}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList10000Services(b *testing.B) {
	s := sqlitetest.Open(b)
	for app := range 100 {
		c := store.Change{AppID: fmt.Sprint("app", app), Kind: store.AttemptApply}
		for i := range 100 {
			c.Put = append(c.Put, store.DesiredService{
				Name: fmt.Sprintf("app%d-s%d", app, i), Image: "web:1", Replicas: 1,
				Spec: spec.Service{Name: fmt.Sprint("s", i), Image: "web:1", Port: 8080, Replicas: 1, Strategy: spec.BlueGreen,
					Domains: []string{fmt.Sprintf("s%d.app%d.example", i, app)}, Env: []spec.EnvVar{{Name: "A", Value: "b"}}},
			})
		}
		if _, err := s.ApplyChange(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	for range b.N {
		all, err := s.ListDesiredServices(b.Context(), "")
		if err != nil || len(all) != 10000 {
			b.Fatal(len(all), err)
		}
	}
}

// What one pass over a service that needs nothing reads.
func BenchmarkReadsOfAPass(b *testing.B) {
	s := sqlitetest.Open(b)
	ctx := b.Context()
	d := store.DesiredService{Name: "shop-web", Spec: spec.Service{Name: "web", Image: "web:1", Port: 8080, Domains: []string{"shop.example"}}}
	_, err := s.ApplyChange(ctx, store.Change{AppID: "shop", Kind: store.AttemptApply, Put: []store.DesiredService{d}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.SetActiveRelease(ctx, store.ActiveRelease{Service: "shop-web", ReleaseID: "shop-web-v1"}); err != nil {
		b.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"desired":    func() error { _, err := s.GetDesiredService(ctx, "shop-web"); return err },
		"active":     func() error { _, err := s.GetActiveRelease(ctx, "shop-web"); return err },
		"open":       func() error { _, err := s.OpenAttempts(ctx, "shop-web"); return err },
		"conditions": func() error { _, err := s.GetConditions(ctx, "application/shop-web"); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
