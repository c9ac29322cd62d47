// Command tidegate is an accelerator-aware cluster autoscaler for Kubernetes. Offline, it
// answers what it would buy for a cluster dump, and why.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set when the binary is built.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// Exit codes of every command.
const (
	exitOK            = 0
	exitInternal      = 1
	exitUsage         = 2
	exitUnschedulable = 3
)

// run executes one command line and returns the exit code. Results go to out, everything
// else to err.
func run(ctx context.Context, args []string, s streams) int {
	root := newRoot(s)
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var internal internalError
	switch {
	case errors.Is(err, errUnschedulable):
		return exitUnschedulable
	case errors.As(err, &internal):
		fmt.Fprintf(s.err, "tidegate: internal error: %v\n", internal.error)
		return exitInternal
	}
	fmt.Fprintf(s.err, "tidegate: %v\n", err)
	return exitUsage
}

// errUnschedulable ends a plan with --fail-on-unschedulable that leaves pods out.
var errUnschedulable = errors.New("some pods get no node")

// internalError is a bug or a machine failure; every other error is the user's input.
type internalError struct{ error }

func (e internalError) Unwrap() error { return e.error }
