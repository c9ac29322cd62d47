// Command generate writes what the documentation takes from the program: all of
// reasons.md and commands.md, and in the other files and the README the transcripts of
// commands and the example of a plan. It builds the program and runs it, because a main
// package cannot be imported.
//
// A transcript is a block whose language is console and whose first line is a command on
// the built-in example; "lines=N" after the language shortens it. The example of a plan is
// the block of language json after the comment "generated: plan".
//
// Example, from the folder docs:
//
//	go run ./internal/generate          # write
//	go run ./internal/generate -check   # exit with 1 and name the files that are stale
package main
