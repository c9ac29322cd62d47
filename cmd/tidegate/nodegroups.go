package main

import "github.com/spf13/cobra"

func newNodeGroups(s streams) *cobra.Command { return &cobra.Command{Use: "nodegroups"} }
func newExplain(s streams) *cobra.Command { return &cobra.Command{Use: "explain"} }
