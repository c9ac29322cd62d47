package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The output formats.
const (
	formatTable = "table"
	formatJSON  = "json"
	formatYAML  = "yaml"
)

// outputFlags choose how a result is written.
type outputFlags struct{ format string }

func (f *outputFlags) register(c *cobra.Command) {
	c.Flags().StringVarP(&f.format, "output", "o", formatTable, "output `FORMAT`: table, json or yaml")
	// The flag exists: registering its completion cannot fail.
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{formatTable, formatJSON, formatYAML}, cobra.ShellCompDirectiveNoFileComp))
}

func (f *outputFlags) check() error {
	switch f.format {
	case formatTable, formatJSON, formatYAML:
		return nil
	}
	return fmt.Errorf("-o: %q is not an output format; use table, json or yaml", f.format)
}

// write writes the result: value as JSON or YAML, or the table that the view draws.
func (f *outputFlags) write(s streams, value any, table func(*view)) error {
	var b bytes.Buffer
	switch f.format {
	case formatTable:
		table(newView(&b, isTerminal(s.out)))
	default:
		if err := encode(&b, f.format, value); err != nil {
			return internalError{err}
		}
	}
	if _, err := io.Copy(s.out, &b); err != nil {
		return internalError{fmt.Errorf("write the result: %w", err)}
	}
	return nil
}

func encode(w io.Writer, format string, value any) error {
	if format == formatYAML {
		data, err := yaml.Marshal(value)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
