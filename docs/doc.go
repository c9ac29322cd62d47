// Package docs is what users read, and holds no code of its own. Two of its files are
// generated from the program: reasons.md from the list of reason codes, commands.md from
// the help of every command. The others are written by hand, and the tests of this package
// hold them to the code: every field that a configuration or a plan has is described,
// every example loads, every transcript is what the program prints.
//
// Example: after a change of a reason code or of a flag,
//
//	make generate
//
// writes the generated files again.
package docs

//go:generate go run ./internal/generate
