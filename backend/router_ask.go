package backend

import (
	"context"
	"errors"
	"fmt"
)

// errNoAnswer: a backend did not answer before the context ended.
var errNoAnswer = errors.New("no answer")

// answer is what a backend said.
type answer[T any] struct {
	value T
	err   error
}

// askAll calls every backend at once and waits for all of them, or until ctx
// ends: a backend that does not keep to its context holds up nobody. The answers
// are in the order of the backends. A panic is an error.
func askAll[T any](ctx context.Context, all []routed, call func(context.Context, Backend) (T, error)) []answer[T] {
	type indexed struct {
		i int
		answer[T]
	}
	// With room for everyone, so that an answer that comes late leaves no goroutine.
	came := make(chan indexed, len(all))
	answers := make([]answer[T], len(all))
	for i, b := range all {
		answers[i].err = errNoAnswer
		go func() { came <- indexed{i, askOne(ctx, b.backend, call)} }()
	}
	for range all {
		select {
		case a := <-came:
			answers[a.i] = a.answer
		case <-ctx.Done():
			for len(came) > 0 {
				a := <-came
				answers[a.i] = a.answer
			}
			return withCause(ctx, answers)
		}
	}
	return answers
}

// askOne is one call.
func askOne[T any](ctx context.Context, b Backend, call func(context.Context, Backend) (T, error)) (a answer[T]) {
	defer func() {
		if p := recover(); p != nil {
			a = answer[T]{err: fmt.Errorf("the backend panicked: %v", p)}
		}
	}()
	a.value, a.err = call(ctx, b)
	return a
}

// withCause says of each answer that did not come why nobody waits any longer.
func withCause[T any](ctx context.Context, answers []answer[T]) []answer[T] {
	for i := range answers {
		if errors.Is(answers[i].err, errNoAnswer) {
			answers[i].err = fmt.Errorf("%w: %w", errNoAnswer, context.Cause(ctx))
		}
	}
	return answers
}
