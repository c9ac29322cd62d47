package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tidegate.io/autoscaler/plan"
)

// fill replaces the generated parts of a page that is otherwise written by hand.
func fill(binary, text string) (string, error) {
	var out strings.Builder
	lines := strings.Split(text, "\n")
	last := ""
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		if i < len(lines)-1 {
			out.WriteString("\n")
		}
		language, isFence := strings.CutPrefix(lines[i], "```")
		if !isFence {
			if strings.TrimSpace(lines[i]) != "" {
				last = lines[i]
			}
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		if end == len(lines) {
			return "", fmt.Errorf("line %d: the block has no end", i+1)
		}
		body, err := block(binary, language, last, lines[i+1:end])
		if err != nil {
			return "", fmt.Errorf("line %d: %w", i+1, err)
		}
		for _, line := range append(body, "```") {
			out.WriteString(line + "\n")
		}
		last = ""
		i = end
	}
	return out.String(), nil
}

// block is the body that a fenced block should have.
func block(binary, language, before string, body []string) ([]string, error) {
	switch {
	case strings.HasPrefix(language, "console") && len(body) > 0:
		return transcript(binary, language, body)
	case language == "json" && before == "<!-- generated: plan -->":
		text, err := examplePlan(binary)
		return strings.Split(text, "\n"), err
	}
	return body, nil
}

// transcript runs the command in the first line of a block and puts its output beneath.
func transcript(binary, language string, body []string) ([]string, error) {
	command, ok := strings.CutPrefix(body[0], "$ ")
	args := strings.Fields(command)
	switch {
	case ok && command == "make run":
		args = []string{"plan", "--example"}
	case ok && strings.Contains(command, "--example") && args[0] == "tidegate":
		args = args[1:]
	default:
		return body, nil
	}
	text, err := output(binary, args...)
	if err != nil {
		return nil, err
	}
	lines, err := shorten(strings.Split(strings.TrimRight(steady(text), "\n"), "\n"), language)
	return append([]string{body[0]}, lines...), err
}

// shorten keeps the first and the last lines: "lines=20+5", or the first ones "lines=20".
func shorten(lines []string, language string) ([]string, error) {
	_, limit, ok := strings.Cut(language, "lines=")
	if !ok {
		return lines, nil
	}
	head, tail, _ := strings.Cut(limit, "+")
	first, err := strconv.Atoi(head)
	last := 0
	if err == nil && tail != "" {
		last, err = strconv.Atoi(tail)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: lines must be a number, or two with a +", language)
	}
	if first+last >= len(lines) {
		return lines, nil
	}
	out := append(lines[:first:first], "…")
	return append(out, lines[len(lines)-last:]...), nil
}

// steady puts fixed figures in the place of those that measure the work of a decision:
// its time, which is never the same twice, and the number of options, which changes with
// every change of the search.
func steady(text string) string {
	for pattern, fixed := range map[string]string{
		`Decided in [0-9.]+(µs|ms|s):`: "Decided in 12ms:",
		`"duration": "[^"]*"`:          `"duration": "12ms"`,
		`[0-9]+ options looked at`:     "100 options looked at",
		`"optionsTried": [0-9]+`:       `"optionsTried": 100`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, fixed)
	}
	return text
}

// examplePlan is the plan of the built-in example, with the long lists cut to the entries
// that show each field.
func examplePlan(binary string) (string, error) {
	text, err := output(binary, "plan", "--example", "-o", "json")
	if err != nil {
		return "", err
	}
	var p plan.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return "", err
	}
	p.ScaleUps = begin(p.ScaleUps, 2)
	p.Placements = append(begin(p.Placements, 1), gangMember(p.Placements)...)
	for i := range p.Unschedulable {
		u := &p.Unschedulable[i]
		u.Pods, u.NodeGroups = begin(u.Pods, 2), begin(u.NodeGroups, 2)
	}
	short, err := json.MarshalIndent(p, "", "  ")
	return steady(string(short)), err
}

func begin[T any](list []T, n int) []T { return list[:min(n, len(list)):min(n, len(list))] }

// gangMember is the first placement that belongs to a gang.
func gangMember(all []plan.Placement) []plan.Placement {
	for _, p := range all {
		if p.Gang != "" {
			return []plan.Placement{p}
		}
	}
	return nil
}
