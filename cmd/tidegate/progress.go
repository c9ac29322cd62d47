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

// decide runs a pure computation. On a terminal it shows that work goes on once that
// takes over a second; an interrupt ends the wait at once: nothing was changed anywhere.
func decide[T any](ctx context.Context, s streams, work func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		v, err := work()
		done <- answer{v, err}
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
			var zero T
			return zero, internalError{fmt.Errorf("interrupted while deciding; nothing was changed")}
		case <-tick.C:
			seconds++
			if isTerminal(s.err) {
				fmt.Fprintf(s.err, "\rdeciding… %ds", seconds)
			}
		}
	}
}

func clearLine(w io.Writer, shown int) {
	if shown > 0 && isTerminal(w) {
		fmt.Fprint(w, "\r\033[K")
	}
}
