package workspace_test

import (
	"strings"
	"testing"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Who may search a part is told of that part, by either way to write all of it.
func TestSearchByCapability(t *testing.T) {
	p := project(t)
	p.write("tools/acme/one.sh", "#!/bin/sh\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: marker\n")
	p.write("tools/other/two.sh", "#!/bin/sh\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n# description: marker\n")
	p.sign("tool:acme/one", "tool:other/two")
	for caps, want := range map[string]string{
		"rye.search.tool":         "tool:acme/one tool:other/two",
		"rye.search.tool.*":       "tool:acme/one tool:other/two",
		"rye.search.tool.acme.*":  "tool:acme/one",
		"rye.search.tool.third.*": "",
	} {
		res, err := p.Search(t.Context(), rye.Program("somebody", caps), rye.SearchRequest{Query: "marker", Space: "project"})
		if err != nil {
			t.Errorf("%s: %v", caps, err)
			continue
		}
		var got []string
		for _, h := range res.Results {
			got = append(got, h.Ref)
		}
		if strings.Join(got, " ") != want || res.Total != len(got) {
			t.Errorf("%s finds %q of %d, want %q", caps, got, res.Total, want)
		}
	}
	_, err := p.Search(t.Context(), rye.Program("somebody", "rye.load.tool.*"), rye.SearchRequest{Query: "marker", Kind: "tool"})
	if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "rye.search.tool.*") {
		t.Errorf("without a capability: %v, want a refusal that says which to hold", err)
	}
}
