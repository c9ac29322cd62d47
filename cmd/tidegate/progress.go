package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// isTerminal says whether a stream is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// await runs work that changes nothing. On a terminal it shows that work goes on once
// that takes over a second; an interrupt ends the wait at once and leaves the work behind.
func await[T any](ctx context.Context, s streams, doing string, work func() (T, error)) (T, error) {
	var zero T
	interrupted := fmt.Errorf("%w while %s; nothing was changed", errInterrupted, doing)
	if ctx.Err() != nil {
		return zero, interrupted
	}
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = asPanic(p)
			}
			done <- a
		}()
		a.value, a.err = work()
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seconds := 0; ; {
		select {
		case a := <-done:
			clearLine(s.err, seconds)
			return a.value, a.err
		case <-ctx.Done():
			clearLine(s.err, seconds)
			return zero, interrupted
		case <-tick.C:
			seconds++
			if isTerminal(s.err) {
				fmt.Fprintf(s.err, "\r%s… %ds", doing, seconds)
			}
		}
	}
}

func clearLine(w io.Writer, shown int) {
	if shown > 0 && isTerminal(w) {
		fmt.Fprint(w, "\r\033[K")
	}
}
