package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// lineWidth is how many columns the output for people takes at most.
const lineWidth = 120

// view draws results for people.
type view struct {
	w     io.Writer
	color bool
}

func newView(w io.Writer, color bool) *view { return &view{w: w, color: color} }

// title writes a headline, bold on a terminal.
func (v *view) title(format string, args ...any) {
	for _, line := range wrap(clean(fmt.Sprintf(format, args...)), lineWidth) {
		if v.color {
			line = "\033[1m" + line + "\033[0m"
		}
		fmt.Fprintln(v.w, line)
	}
}

// section is a headline after a blank line.
func (v *view) section(format string, args ...any) {
	fmt.Fprintln(v.w)
	v.title(format, args...)
}

// wrapped writes prose, indented, within the width.
func (v *view) wrapped(indent, prose string) {
	for _, line := range wrap(clean(prose), lineWidth-len(indent)) {
		fmt.Fprintln(v.w, strings.TrimRight(indent+line, " "))
	}
}

// facts writes named lines without a header; a name is written once where it repeats.
func (v *view) facts(facts []plan.Fact) {
	names := 0
	for _, f := range facts {
		names = max(names, columns(clean(f.Name)))
	}
	layout := []column{{width: names}, {width: lineWidth - 4 - names}}
	last := ""
	for _, f := range facts {
		name := f.Name
		if name == last {
			name = ""
		}
		last = f.Name
		v.row("", row{name, f.Value}, layout)
	}
}

// moment writes a time as --at reads it.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// later says roughly how long after now a time is.
func later(now, t time.Time) string {
	d := t.Sub(now).Round(time.Second)
	switch {
	case d < 2*time.Minute:
		return "in " + plural(int64(d/time.Second), "second")
	case d < 2*time.Hour:
		return "in " + plural(int64(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return "in " + plural(int64(d.Round(time.Hour)/time.Hour), "hour")
	}
	return "in " + plural(int64(d/(24*time.Hour)), "day")
}

// short is the part of a label key after its domain.
func short(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// list joins at most n names and says how many more there are. One more is named too: that
// is as short as counting it.
func list(names []string, n int) string {
	if len(names) <= n+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// plural counts things: 1 pass, 2 passes.
func plural[N int | int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// price writes what one thing costs an hour, exactly, with at least two decimals.
func price(m configv1alpha1.MicroDollars) string {
	s := m.String()
	switch dot := strings.IndexByte(s, '.'); {
	case dot < 0:
		s += ".00"
	case len(s)-dot == 2:
		s += "0"
	}
	return dollars(s)
}

// sum writes what many things cost an hour, to the cent.
func sum(m configv1alpha1.MicroDollars) string {
	cents := (max(m, -m) + 5_000) / 10_000
	sign := ""
	if m < 0 && cents > 0 {
		sign = "-"
	}
	return dollars(fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100))
}

// dollars puts the currency, the thousands' commas and the hour to an amount.
func dollars(amount string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(amount, "-"); negative {
		sign, amount = "-", rest
	}
	whole, cents, _ := strings.Cut(amount, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return sign + "$" + whole + "." + cents + "/h"
}
