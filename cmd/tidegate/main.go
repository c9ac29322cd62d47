package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

// version is set when the binary is built.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program the hard way.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// Exit codes of every command. An interrupt is exitInternal: there is no result, and not
// for a reason that lies in the input.
const (
	exitOK            = 0
	exitInternal      = 1
	exitUsage         = 2
	exitUnschedulable = 3
)

// run executes one command line and returns the exit code. Results go to out, everything
// else to err.
func run(ctx context.Context, args []string, s streams) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.err, "tidegate: internal error: %v\n", asPanic(p))
			code = exitInternal
		}
	}()
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var internal internalError
	switch {
	case errors.Is(err, errUnschedulable):
		fmt.Fprintf(s.err, "tidegate: %v\n", err)
		return exitUnschedulable
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(s.err, "tidegate: %v\n", err)
		return exitInternal
	case errors.As(err, &internal):
		fmt.Fprintf(s.err, "tidegate: internal error: %v\n", internal.error)
		return exitInternal
	}
	fmt.Fprintf(s.err, "tidegate: %s\n", strings.TrimSpace(err.Error()))
	return exitUsage
}

// errUnschedulable ends a plan with --fail-on-unschedulable that leaves pods out.
var errUnschedulable = errors.New("some pods get no node (--fail-on-unschedulable)")

// errInterrupted ends what Ctrl-C stops.
var errInterrupted = errors.New("interrupted")

// internalError is a bug or a machine failure; every other error is the user's input.
type internalError struct{ error }

func (e internalError) Unwrap() error { return e.error }

// asPanic makes an error of what recover returns, with the stack: a panic is a bug, and
// without this its exit code would be that of bad input.
func asPanic(p any) error { return internalError{fmt.Errorf("%v\n%s", p, debug.Stack())} }
