package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/workspace/internal/custody"
)

// signedByOthers returns the links of a chain that neither the user nor the standard library
// signed. Trust in their authors as tool writers does not extend to the values in this user's
// environment.
func signedByOthers(s *custody.Desk, plan *chain.Plan) (all []chain.Link) {
	for _, l := range plan.Links {
		if l.Space != objects.System && !s.Trust.IsOwn(l.Verified.Key()) {
			all = append(all, l)
		}
	}
	return all
}

// sentVariables lists the variables whose values a request takes from the environment, or from
// the .env files whose variables are vars. The agreement to a file is for all tools, and does
// not cover the places to which they send it.
func sentVariables(s *custody.Desk, plan *chain.Plan, vars map[string]string) (names []string) {
	if !takesEnv(plan) {
		return nil // the agreement to a file names a registry's tool
	}
	for _, kv := range fromEnv(s, plan) {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	for _, name := range plan.Declares() {
		if vars[name] != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretsOf is the consent that a request needs before it sends values from outside; nil is none.
// It is for these variables, and for these bytes by other signers. Values are not part of it: a
// new password needs no question.
func secretsOf(s *custody.Desk, plan *chain.Plan, vars map[string]string) *consent.Thing {
	names := sentVariables(s, plan, vars)
	if len(names) == 0 || len(signedByOthers(s, plan)) == 0 {
		return nil
	}
	base := s.ProjectDir
	if plan.Links[0].Space == objects.User || base == "" {
		base = s.UserDir
	}
	t := &consent.Thing{What: consent.Secrets, Path: base, For: plan.Tool().Ref.String(), In: placeOf(s, base), Parts: map[string][]byte{}}
	var text []string
	for _, name := range names {
		t.Parts[name] = nil
		text = append(text, "variable "+name+"\n")
	}
	// The whole chain: any link may determine the sent variables and their destination. A change
	// by the user needs a new question, too.
	for _, l := range plan.Links {
		it := l.Verified.Item()
		t.Parts[it.Ref.String()] = []byte(it.Sum.Hex())
		text = append(text, "item "+it.Ref.String()+" "+it.Sum.Hex()+"\n")
	}
	slices.Sort(text)
	t.Sum = objects.DigestOf([]byte(strings.Join(text, "")))
	return t
}

// describeSecrets describes the sent variables, their destination, and the signers.
func describeSecrets(s *custody.Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
	var names []string
	for name, v := range t.Parts {
		if v == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	url, hosts := plan.Asks()
	text = fmt.Sprintf("It sends %s from your environment or .env, and another person signed it. Allow it?", strings.Join(names, ", "))
	lines = append(lines, fmt.Sprintf("it contacts %q", url))
	if hosts != nil {
		lines = append(lines, "it may reach "+strings.Join(hosts, ", "))
	}
	for _, l := range signedByOthers(s, plan) {
		signer := l.Verified.Key().Fingerprint().String()
		for _, p := range s.Trust.Pins() {
			if p.Key == l.Verified.Key() && p.Name != "" {
				signer += " (" + p.Name + ")"
			}
		}
		lines = append(lines, fmt.Sprintf("%s is signed by %s", l.Ref(), signer))
	}
	return text, lines
}
