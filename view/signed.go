package view

import (
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// signed is the head of the answer to a signing request.
type signed struct {
	Status string       `json:"status"` // signed, unchanged, older, returned; completed for a pattern
	Path   string       `json:"path,omitempty"`
	Digest string       `json:"digest,omitempty"`
	Signed []string     `json:"signed,omitempty"`
	Total  int          `json:"total,omitempty"`
	Failed []failure    `json:"failed,omitempty"`
	Passed []passedOver `json:"passed_over,omitempty"`
}

// passedOver is an item with another signer's signature: it is signed only when it is requested
// alone.
type passedOver struct {
	Item     string `json:"item"`
	SignedBy string `json:"signed_by"`
}

// Signed returns the answer for a signing request.
func Signed(target rye.Target, rep *rye.SignReport, prefix string) Answer {
	if len(rep.Results) == 1 && !strings.ContainsAny(string(target), "*?") {
		r := rep.Results[0]
		if r.Error != "" {
			return Answer{Head: failedItem(r, "", prefix), Failed: true}
		}
		return Answer{Head: signed{Status: r.Status, Path: r.Path, Digest: r.Digest}}
	}
	out := signed{Status: "completed", Total: len(rep.Results)}
	for _, r := range rep.Results {
		switch {
		case r.Error != "":
			out.Failed = append(out.Failed, failedItem(r, r.Ref, prefix))
		case r.Status == "signed":
			out.Signed = append(out.Signed, r.Ref)
		case r.Status == "passed over":
			out.Passed = append(out.Passed, passedOver{r.Ref, r.SignedBy})
		}
	}
	all := len(out.Failed) > 0 && len(out.Failed) == out.Total
	if all {
		out.Status = "error"
	}
	return Answer{Head: out, Failed: all}
}

// failedItem returns why one item was not signed, with all issues.
func failedItem(r rye.SignResult, ref, prefix string) failure {
	f := failure{Status: "error", Item: ref, Code: r.Code, Message: r.Error, Hint: Hint(r.Hint, prefix), Paste: r.Paste}
	if len(r.Issues) > 1 {
		f.Issues = r.Issues
	}
	if r.Paste != "" {
		f.Hint = "start content with paste, filled in; a #! line comes before it"
	}
	if r.Code == "" {
		f.Code = fault.Failed
	}
	return f
}
