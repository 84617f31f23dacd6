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

// signedByOthers returns the links of a chain that neither the user nor the standard
// library signed. Their authors are trusted to write tools; that does not give them what
// lies in this user's environment.
func signedByOthers(s *custody.Desk, plan *chain.Plan) (all []chain.Link) {
	for _, l := range plan.Links {
		if l.Space != objects.System && !s.Trust.IsOwn(l.Verified.Key()) {
			all = append(all, l)
		}
	}
	return all
}

// sentVariables lists the variables of which a request takes the value from outside: from
// the environment, or from the .env files whose variables are vars. The agreement to a
// file is for all tools, and does not say where they send it.
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

// secretsOf is what the user has to agree to before a request takes something from
// outside: these variables, for these bytes that somebody else signed. nil is nothing.
// Values have no part in it: a new password asks nothing.
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
	// The whole chain: any link of it may say what is taken and where it is sent. The
	// user's own change asks again, too.
	for _, l := range plan.Links {
		it := l.Verified.Item()
		t.Parts[it.Ref.String()] = []byte(it.Sum.Hex())
		text = append(text, "item "+it.Ref.String()+" "+it.Sum.Hex()+"\n")
	}
	slices.Sort(text)
	t.Sum = objects.DigestOf([]byte(strings.Join(text, "")))
	return t
}

// describeSecrets says who gets which variables, and where they are sent.
func describeSecrets(s *custody.Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
	var names []string
	for name, v := range t.Parts {
		if v == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	url, hosts := plan.Asks()
	text = fmt.Sprintf("It sends %s of your environment or .env, and somebody else signed it. Let it?", strings.Join(names, ", "))
	lines = append(lines, fmt.Sprintf("it asks %q", url))
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
