package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	configv1alpha1 "tidegate.io/autoscaler/api/config/v1alpha1"
	"tidegate.io/autoscaler/plan"
)

// width is what tables fit into.
const width = 120

// view draws results for people, in at most width columns.
type view struct {
	w     io.Writer
	color bool
}

func newView(w io.Writer, color bool) *view { return &view{w: w, color: color} }

// title writes a headline, bold on a terminal.
func (v *view) title(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if v.color {
		line = "\033[1m" + line + "\033[0m"
	}
	fmt.Fprintf(v.w, "%s\n", line)
}

// table draws rows under a header; the last column takes what is left and wraps.
func (v *view) table(header []string, rows [][]string) {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "  ", ""
	style.Format.Header = text.FormatUpper
	t.SetStyle(style)
	used := 0
	head := table.Row{}
	for i, h := range header {
		head = append(head, h)
		if i == len(header)-1 {
			break
		}
		most := len(h)
		for _, r := range rows {
			most = max(most, text.StringWidthWithoutEscSequences(r[i]))
		}
		used += most + 2
	}
	t.AppendHeader(head)
	for _, r := range rows {
		row := table.Row{}
		for _, c := range r {
			row = append(row, c)
		}
		t.AppendRow(row)
	}
	t.SetColumnConfigs([]table.ColumnConfig{{
		Number: len(header), WidthMax: max(width-used-2, 24), WidthMaxEnforcer: text.WrapSoft,
	}})
	for _, line := range strings.Split(t.Render(), "\n") {
		fmt.Fprintln(v.w, strings.TrimRight(line, " "))
	}
}

// plan draws a plan: what is bought, who goes where, who waits, who gets nothing, cost.
func (v *view) plan(p *plan.Plan) {
	v.scaleUps(p)
	v.placements(p)
	v.waiting(p)
	v.unschedulable(p)
	fmt.Fprintf(v.w, "\nCost %s/h before, %s/h after; no plan for the same pods could cost less than %s/h.\n",
		dollars(p.Cost.Before), dollars(p.Cost.After), dollars(p.Cost.LowerBound))
	if p.Wake != nil {
		fmt.Fprintf(v.w, "The answer may change by itself at %s.\n", p.Wake.Format("2006-01-02 15:04:05 MST"))
	}
	if p.Stats != nil {
		note := ""
		if p.Stats.Truncated {
			note = "; a search budget ran out, a better plan may exist"
		}
		fmt.Fprintf(v.w, "%d pending pods of %d kinds, %d options looked at, proved in %d scheduler pass(es), %s%s.\n",
			p.Stats.PendingPods, p.Stats.PodClasses, p.Stats.OptionsTried, p.Stats.ProofPasses, p.Stats.Duration, note)
	}
}

func (v *view) scaleUps(p *plan.Plan) {
	if len(p.ScaleUps) == 0 {
		v.title("Nothing to buy at %s", p.Time.Format("2006-01-02 15:04:05 MST"))
		return
	}
	v.title("To buy at %s", p.Time.Format("2006-01-02 15:04:05 MST"))
	var rows [][]string
	for _, u := range p.ScaleUps {
		var domains []string
		for _, d := range u.Domains {
			domains = append(domains, fmt.Sprintf("%s %s: %d", short(d.Key), d.Domain, d.Nodes))
		}
		for_ := list(u.Gangs, 3)
		if for_ == "" {
			for_ = u.Reason
		}
		rows = append(rows, []string{u.NodeGroup, fmt.Sprintf("%d→%d", u.From, u.To), fmt.Sprintf("+%d", u.Add),
			dollars(u.PricePerHour), fmt.Sprint(u.Pods), list(domains, 3), for_})
	}
	v.table([]string{"node group", "size", "add", "each/h", "pods", "domains", "for"}, rows)
}

// placements draws one line for each gang, or group of ordinary pods, and node group.
func (v *view) placements(p *plan.Plan) {
	if len(p.Placements) == 0 {
		return
	}
	type line struct {
		pods     int
		nodes    map[string]bool
		new      map[string]bool
		domains  map[string]bool
		firstPod string
	}
	lines := map[[2]string]*line{}
	var order [][2]string
	for _, x := range p.Placements {
		name := x.Gang
		if name == "" {
			ns, _, _ := strings.Cut(x.Pod, "/")
			name = ns + "/ (ordinary pods)"
		}
		key := [2]string{name, x.NodeGroup}
		l := lines[key]
		if l == nil {
			l = &line{nodes: map[string]bool{}, new: map[string]bool{}, domains: map[string]bool{}}
			lines[key] = l
			order = append(order, key)
		}
		l.pods++
		l.nodes[x.Node] = true
		if x.New {
			l.new[x.Node] = true
		}
		for k, d := range x.Domains {
			l.domains[short(k)+" "+d] = true
		}
	}
	fmt.Fprintln(v.w)
	v.title("%d pods placed", len(p.Placements))
	var rows [][]string
	for _, key := range order {
		l := lines[key]
		group := key[1]
		if group == "" {
			group = "(no group)"
		}
		where := fmt.Sprintf("%d nodes", len(l.nodes))
		if len(l.nodes) <= 2 {
			where = list(slices.Sorted(maps.Keys(l.nodes)), 2)
		}
		if n := len(l.new); n > 0 && n < len(l.nodes) {
			where += fmt.Sprintf(", %d new", n)
		} else if n > 0 && len(l.nodes) > 2 {
			where += ", all new"
		}
		rows = append(rows, []string{key[0], fmt.Sprint(l.pods), group, where, list(slices.Sorted(maps.Keys(l.domains)), 3)})
	}
	v.table([]string{"gang", "pods", "node group", "on", "domains"}, limitRows(rows, 40))
}

// limitRows keeps tables readable: the first rows and how many are not shown.
func limitRows(rows [][]string, most int) [][]string {
	if len(rows) <= most {
		return rows
	}
	out := slices.Clone(rows[:most])
	more := make([]string, len(rows[0]))
	more[0] = fmt.Sprintf("… %d more (-o json lists all)", len(rows)-most)
	return append(out, more)
}

func (v *view) waiting(p *plan.Plan) {
	if len(p.Waiting) == 0 {
		return
	}
	fmt.Fprintln(v.w)
	v.title("%d waiting", len(p.Waiting))
	var rows [][]string
	for _, w := range p.Waiting {
		rows = append(rows, []string{w.Gang, fmt.Sprint(w.Pods), string(w.Reason), w.Message})
	}
	v.table([]string{"gang", "pods", "reason", "why"}, limitRows(rows, 20))
}

func (v *view) unschedulable(p *plan.Plan) {
	if len(p.Unschedulable) == 0 {
		return
	}
	fmt.Fprintln(v.w)
	v.title("%d get no node", len(p.Unschedulable))
	var rows [][]string
	for _, u := range p.Unschedulable {
		for i, g := range u.NodeGroups {
			name, pods := "", ""
			if i == 0 {
				name, pods = u.Gang, fmt.Sprint(len(u.Pods))
			}
			rows = append(rows, []string{name, pods, g.NodeGroup, string(g.Reason), g.Message})
		}
		if len(u.NodeGroups) == 0 {
			rows = append(rows, []string{u.Gang, fmt.Sprint(len(u.Pods)), "", "", u.Message})
		}
	}
	v.table([]string{"gang", "pods", "node group", "reason", "why"}, limitRows(rows, 40))
}

// short is the part of a label key after its domain.
func short(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// list joins at most n names and says how many more there are.
func list(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// wrapped writes prose, indented, within the width.
func (v *view) wrapped(indent, prose string) {
	for _, line := range strings.Split(text.WrapSoft(prose, width-len(indent)), "\n") {
		fmt.Fprintln(v.w, indent+strings.TrimRight(line, " "))
	}
}

// dollars writes money with at least two decimals.
func dollars(m configv1alpha1.MicroDollars) string {
	s := m.String()
	switch dot := strings.IndexByte(s, '.'); {
	case dot < 0:
		s += ".00"
	case len(s)-dot == 2:
		s += "0"
	}
	return "$" + s
}

// facts writes named lines without a header.
func (v *view) facts(facts []plan.Fact) {
	most := 0
	for _, f := range facts {
		most = max(most, len(f.Name))
	}
	for _, f := range facts {
		for i, line := range strings.Split(text.WrapSoft(f.Value, width-most-4), "\n") {
			name := f.Name
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(v.w, "  %-*s  %s\n", most, name, strings.TrimRight(line, " "))
		}
	}
}
