package look

import (
	"context"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store/space"
	"github.com/rye-os/rye/workspace/internal/session"
)

// ItemsAndBundles turns what a user typed into the refs of working files and the directories
// of bundles. all stands for every item and every bundle of the layer, as the target * does.
// An item that only a bundle answers for stands for that bundle.
func ItemsAndBundles(
	ctx context.Context, s *session.Session, l *space.Layer, args []rye.Target, all bool,
) (refs []objects.Ref, bundles []string, err error) {
	var rest []rye.Target
	for _, arg := range args {
		if dir, ok := FolderTarget(l, arg); ok {
			bundles = append(bundles, dir)
		} else {
			rest = append(rest, arg)
		}
	}
	if all || slices.Contains(args, "*") {
		every, err := l.Bundles(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, dir := range every {
			if _, err := objects.BundleID(dir); err == nil {
				bundles = append(bundles, dir)
			}
		}
	}
	named, err := Targets(ctx, s, l, rest, all)
	if err != nil {
		return nil, nil, err
	}
	seen, locate := &space.Covers{}, l.Locations(named)
	for _, ref := range named {
		var dir string
		if p, err := locate(ref); err == nil && p != "" { // else what is done to the item says what is wrong
			if dir, err = answeredBy(ctx, s, l, p, seen); err != nil {
				return nil, nil, err
			}
			if in, ok := objects.InBundles(p); ok && dir == "" && !lineAt(l, p) {
				dir = in
			}
		}
		if dir != "" {
			bundles = append(bundles, dir)
		} else {
			refs = append(refs, ref)
		}
	}
	slices.Sort(bundles)
	return refs, slices.Compact(bundles), nil
}

// Targets turns what a user typed into the refs of working files: refs, paths, or patterns in
// which * stands for any text and ? for one character. all stands for every item.
func Targets(ctx context.Context, s *session.Session, l *space.Layer, args []rye.Target, all bool) ([]objects.Ref, error) {
	var refs []objects.Ref
	seen := map[objects.Ref]bool{}
	add := func(ref objects.Ref) {
		if !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	if all {
		args = append(slices.Clip(args), "*")
	}
	for _, target := range args {
		arg := string(target)
		if !strings.ContainsAny(arg, "*?") {
			ref, err := session.RefOf(ctx, s, arg)
			if err != nil {
				return nil, err
			}
			add(ref)
			continue
		}
		n := len(refs)
		_, err := l.Files(ctx, func(_ string, ref objects.Ref) error {
			if glob(arg, ref.String()) || glob(arg, string(ref.ID)) {
				add(ref)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(refs) == n && !all {
			return nil, fault.New(fault.NotFound, "%q matches no item of the %s space", arg, l.Space).Advise("rye list")
		}
	}
	return refs, nil
}

// glob matches s against a pattern in which * spans everything, slashes too. It takes time
// proportional to the product of the lengths at the worst.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
