package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/internal/words"
)

// Bounds of the text about parameters, in bytes.
const (
	maxParams      = 1200 // of all of them
	maxDescription = 100  // of one
)

// Params describes an item's parameters in one line, required ones first:
//
//	pattern: string (What to look for); limit?: integer = 100; mode?: text|count
//
// A question mark follows the names of optional parameters, and braces hold the fields of an
// object. described adds the parameters' descriptions if all of them fit.
func Params(all []rye.ParamInfo, described bool) string {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b rye.ParamInfo) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	var parts []string
	size := 0
	for i, p := range sorted {
		part := param(p, described)
		if size += len(part) + 2; size > maxParams {
			if described {
				return Params(all, false)
			}
			return strings.Join(append(parts, fmt.Sprintf("… and %d more", len(sorted)-i)), "; ")
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func param(p rye.ParamInfo, described bool) string {
	var b strings.Builder
	b.WriteString(words.Clip(p.Name, maxDescription))
	if !p.Required {
		b.WriteString("?")
	}
	kind := p.Type
	if len(p.Values) > 0 {
		kind = strings.Join(p.Values, "|")
	}
	if kind != "" {
		b.WriteString(": " + words.Clip(kind, maxDescription))
	}
	if len(p.Fields) > 0 {
		b.WriteString(" of {" + words.Clip(Params(p.Fields, described), maxParams/2) + "}")
	}
	if p.Default != "" {
		b.WriteString(" = " + words.Clip(p.Default, maxDescription))
	}
	if p.Description != "" && described {
		b.WriteString(" (" + words.Clip(oneLine(p.Description), maxDescription) + ")")
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
