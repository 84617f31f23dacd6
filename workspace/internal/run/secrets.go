package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// fromEnv lists what a request would take from the user's environment, NAME=value.
// Only an HTTP chain takes something, of what it declares and that is set; what a
// registry published takes nothing, consent or not.
func fromEnv(s *Desk, plan *chain.Plan) (pairs []string) {
	if plan.Primitive() != chain.HTTP || plan.Links[0].Verified.Scope().Registry != "" {
		return nil
	}
	declared := plan.Declares()
	for _, kv := range s.Env {
		if name, value, _ := strings.Cut(kv, "="); value != "" && slices.Contains(declared, name) {
			pairs = append(pairs, kv)
		}
	}
	return pairs
}

// strangers are the links of a chain that neither the user nor the standard
// library signed. Their authors are trusted to write tools, and were not asked
// about what lies in this user's environment.
func strangers(s *Desk, plan *chain.Plan) (all []chain.Link) {
	for _, l := range plan.Links {
		if l.Space != objects.System && !s.Trust.IsOwn(l.Verified.Key()) {
			all = append(all, l)
		}
	}
	return all
}

// sent lists the variables of which a request would take the value from outside:
// from the environment, or from the .env files whose variables are files. That a
// file may be used is agreed to for all tools, and where they send it is not.
func sent(s *Desk, plan *chain.Plan, files map[string]string) (names []string) {
	if plan.Primitive() != chain.HTTP || plan.Links[0].Verified.Scope().Registry != "" {
		return nil // a registry's tool: the agreement to the file names it
	}
	for _, kv := range fromEnv(s, plan) {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	for _, name := range plan.Declares() {
		if files[name] != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretsOf is what has to be agreed to before a request takes something from
// outside: these variables, for these bytes of a stranger's. nil is nothing.
// Values have no part in it: a new password is not asked about.
func secretsOf(s *Desk, plan *chain.Plan, files map[string]string) *consent.Thing {
	names := sent(s, plan, files)
	if len(names) == 0 || len(strangers(s, plan)) == 0 {
		return nil
	}
	base := s.ProjectDir
	if plan.Links[0].Space == objects.User || base == "" {
		base = s.UserDir
	}
	t := &consent.Thing{What: consent.Secrets, Path: base, For: plan.Tool().Ref.String(), Parts: map[string][]byte{}}
	var text []string
	for _, name := range names {
		t.Parts[name] = nil
		text = append(text, "variable "+name+"\n")
	}
	// The whole chain: where a stranger's runtime sends something, and what it takes,
	// may be said by any link. The user's own change asks again, too.
	for _, l := range plan.Links {
		it := l.Verified.Item()
		t.Parts[it.Ref.String()] = []byte(it.Sum.Hex())
		text = append(text, "item "+it.Ref.String()+" "+it.Sum.Hex()+"\n")
	}
	slices.Sort(text)
	t.Sum = objects.DigestOf([]byte(strings.Join(text, "")))
	return t
}

// describeSecrets says who would get what, and where it would go.
func describeSecrets(s *Desk, plan *chain.Plan, t consent.Thing) (text string, lines []string) {
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
		lines = append(lines, fmt.Sprintf("it may reach %s", strings.Join(hosts, ", ")))
	}
	for _, l := range strangers(s, plan) {
		who := l.Verified.Key().Fingerprint().String()
		for _, p := range s.Trust.Pins() {
			if p.Key == l.Verified.Key() && p.Name != "" {
				who += " (" + p.Name + ")"
			}
		}
		lines = append(lines, fmt.Sprintf("%s is signed by %s", l.Ref(), who))
	}
	return text, lines
}

// secretThings is secretsOf for a request to agree to it, or to take that back.
func secretThings(s *Desk, plan *chain.Plan) ([]consent.Thing, error) {
	files, _, _, err := envFiles(s, plan)
	if err != nil {
		return nil, err
	}
	if t := secretsOf(s, plan, files); t != nil {
		return []consent.Thing{*t}, nil
	}
	return nil, fault.New(fault.NotFound, "%s: it sends nothing of your environment that has to be allowed (it declares [%s])", plan.Tool().Ref, strings.Join(plan.Declares(), " "))
}
