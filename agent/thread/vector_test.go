package thread

import (
	"encoding/json"
	"os"
	"testing"
)

// TestDescriptionVectors: thread.json has one spelling, and what is not one is refused
// (docs/format/thread.md). Its signature and its commits are workspace's to compute.
func TestDescriptionVectors(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/vectors/thread.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Description string `json:"description"`
		Refused     []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"refused"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	d, err := parseDescription([]byte(v.Description))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.encode(); err != nil || string(got) != v.Description {
		t.Errorf("parse, then encode = %v\n%s\nwant\n%s", err, got, v.Description)
	}
	if len(v.Refused) < 3 {
		t.Errorf("%d descriptions are refused, want 3 or more", len(v.Refused))
	}
	for _, r := range v.Refused {
		if d, err := parseDescription([]byte(r.Description)); err == nil {
			t.Errorf("%s: parsed as %+v", r.Name, d)
		}
	}
}
