package run

import (
	"cmp"
	"fmt"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain/network"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// networkOf returns the user's network settings for a tool. rye itself uses the user's proxy for a
// tool whose connections it carries, so that tool gets none.
func (j *job) networkOf(s *custody.Desk) network.Found {
	found := j.settings(s)
	if t, err := tier(s, j.plan); err == nil && j.plan.Own(t) {
		return found.WithoutProxies()
	}
	return found
}

// settings reads the user's network settings once for each job, and only for a tool that may reach
// the network.
func (j *job) settings(s *custody.Desk) network.Found {
	if len(j.plan.Net()) == 0 {
		return network.Found{}
	}
	if j.network == nil {
		found := network.Read(networkSource(s.Host, s.Options))
		j.network = &found
	}
	return *j.network
}

func networkSource(h *session.Host, o *custody.Options) network.Source {
	return network.Source{Env: o.Env, Home: h.Home, Project: h.ProjectDir}
}

// checkNetwork lists the network settings that reach tools, and those that are not used.
func (r *Runner) checkNetwork() (all []rye.DoctorCheck) {
	const name = "network"
	found := network.Read(networkSource(r.host, r.keys.Options))
	for _, s := range found.Settings {
		all = append(all, rye.DoctorCheck{Name: name, OK: true, Text: describeSetting(s)})
	}
	for _, s := range found.Skipped {
		all = append(all, rye.DoctorCheck{Name: name, Text: fmt.Sprintf("%s %s; tools do not get it", words.Quote(s.What), s.Why),
			Mend: fault.Advice("correct or unset it; rye reads only your own settings")})
	}
	if len(all) == 0 {
		all = append(all, rye.DoctorCheck{Name: name, OK: true, Text: "you set no proxy, mirror or CA file, so tools use the Internet directly"})
	}
	return all
}

// describeSetting says what a tool gets, from where, and when.
func describeSetting(s network.Setting) string {
	value := words.Quote(s.Value)
	if len(s.Files) > 0 && len(s.Hosts) == 0 {
		value = "a copy of the certificates in " + value
	}
	text := fmt.Sprintf("%s, from %s: %s reaches tools that may reach %s", s.Name, words.Quote(s.From), value, cmp.Or(s.Public, "another machine"))
	switch {
	case s.System:
		return text + "; they read the file themselves"
	case !s.Bare:
		return text
	case s.Public != "":
		return text + "; its password does not, so a mirror that asks for one refuses them"
	}
	return text + "; its password does not, so tools that dial by themselves cannot use a proxy that asks for one"
}
