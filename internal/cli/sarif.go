package cli

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/rye-os/rye"
)

// SARIF 2.1.0 (OASIS), the parts that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string          `json:"ruleId"`
		Level        string          `json:"level"`
		Message      sarifText       `json:"message"`
		Locations    []sarifLocation `json:"locations"`
		Suppressions []sarifReason   `json:"suppressions,omitempty"`
	}
	sarifReason struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
		Logical  []sarifName   `json:"logicalLocations,omitempty"`
	}
	sarifName struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifPhysical struct {
		Artifact sarifURI    `json:"artifactLocation"`
		Region   sarifRegion `json:"region"`
	}
	sarifURI struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// sarifOf returns a report in SARIF. A finding without a file in the project is placed in the
// lock.
func sarifOf(rep *rye.AuditReport) sarifLog {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "rye audit", Rules: []sarifRule{}}}, Results: []sarifResult{}}
	for _, f := range slices.Concat(rep.Findings, rep.Accepted) {
		if !slices.Contains(run.Tool.Driver.Rules, sarifRule{f.Rule}) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule})
		}
		r := sarifResult{RuleID: f.Rule, Level: map[string]string{"high": "error", "medium": "warning"}[f.Severity],
			Message: sarifText{f.Says + prefixed(": ", f.Excerpt) + prefixed("; ", f.Mend.String())}}
		r.Level = cmp.Or(r.Level, "note")
		uri := url.URL{Path: cmp.Or(f.Path, ".ai/rye.lock")}
		at := sarifLocation{Physical: sarifPhysical{sarifURI{uri.EscapedPath()}, sarifRegion{max(f.Line, 1)}}}
		if f.Path == "" {
			at.Physical.Region.StartLine = 1
		}
		if f.Item != "" {
			at.Logical = []sarifName{{f.Item}}
		}
		r.Locations = []sarifLocation{at}
		if f.Reason != "" {
			r.Suppressions = []sarifReason{{"external", f.Reason}}
		}
		run.Results = append(run.Results, r)
	}
	slices.SortFunc(run.Tool.Driver.Rules, func(a, b sarifRule) int { return cmp.Compare(a.ID, b.ID) })
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}
