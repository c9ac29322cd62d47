package main

import (
	"fmt"
	"slices"
	"strings"
)

const commandsPreface = `# Commands

What ` + "`--help`" + ` says of each command. Results go to standard output, everything else to standard
error.

| exit code | meaning |
| --- | --- |
| 0 | done; a plan that leaves pods without a node is still 0 |
| 1 | internal error, or interrupted |
| 2 | bad usage or bad input; the message names the flag, or the file, object and field |
| 3 | with ` + "`plan --fail-on-unschedulable`" + `: some pod gets no node |
`

// commands is the page of all commands, each followed by those beneath it.
func commands(binary string) (string, error) {
	var b strings.Builder
	b.WriteString(header + commandsPreface)
	if err := writeCommand(&b, binary, nil); err != nil {
		return "", err
	}
	return b.String(), nil
}

// writeCommand writes one command's section and goes on with its subcommands.
func writeCommand(b *strings.Builder, binary string, path []string) error {
	text, err := output(binary, append(slices.Clip(path), "--help")...)
	if err != nil {
		return err
	}
	h := parseHelp(text)
	fmt.Fprintf(b, "\n## %s\n\n%s\n", strings.Join(append([]string{"tidegate"}, path...), " "), h.about)
	for _, s := range h.sections {
		language := "text"
		if s.title == "Examples" {
			language = "sh"
		}
		fmt.Fprintf(b, "\n%s:\n\n```%s\n%s\n```\n", s.title, language, s.body)
	}
	for _, name := range h.children {
		if err := writeCommand(b, binary, append(slices.Clip(path), name)); err != nil {
			return err
		}
	}
	return nil
}

// help is the text that cobra writes, taken apart.
type help struct {
	about    string
	sections []section
	children []string
}

type section struct{ title, body string }

// parseHelp splits at the lines that begin a section: "Usage:", "Flags:" and the like.
func parseHelp(text string) help {
	var h help
	var about []string
	title := ""
	var body []string
	end := func() {
		if s := dedent(body); title != "" && s != "" {
			h.sections = append(h.sections, section{title, s})
		}
		body = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch next, isTitle := strings.CutSuffix(line, ":"); {
		case isTitle && isSection(next):
			end()
			title = next
		case strings.HasPrefix(line, `Use "`):
			end()
			title = ""
		case title == "":
			about = append(about, line)
		default:
			body = append(body, line)
			if title == "Available Commands" {
				h.children = append(h.children, child(line)...)
			}
		}
	}
	end()
	h.about = strings.TrimSpace(strings.Join(about, "\n"))
	return h
}

func isSection(title string) bool {
	switch title {
	case "Usage", "Aliases", "Examples", "Available Commands", "Flags", "Global Flags":
		return true
	}
	return false
}

// child is the command that a line lists. Cobra's own are not described here: help, and
// completion with its four shells.
func child(line string) []string {
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	if name == "" || name == "help" || name == "completion" {
		return nil
	}
	return []string{name}
}

// dedent takes the indentation of the first line off all lines, and blank lines off both ends.
func dedent(lines []string) string {
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, strings.TrimRight(strings.TrimPrefix(line, indent), " "))
	}
	return strings.Join(out, "\n")
}
