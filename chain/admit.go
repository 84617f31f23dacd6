package chain

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rye-os/rye/chain/network"
	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

// Net returns the hosts that the plan may reach, in the form of needs.net.
func (p *Plan) Net() []string {
	n := p.config.needs
	if n.Declared || p.Links[0].Verified.Scope().Registry != "" {
		return n.Net
	}
	return append(slices.Clip(n.Net), "*:80", "*:443")
}

// Listen returns the ports at which the plan's program serves other programs, in order. Errors are
// Malformed.
func (p *Plan) Listen() (all []uint16, err error) {
	for _, text := range p.config.needs.Listen {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n < 1024 {
			return nil, fault.New(fault.Malformed, "run %s: needs.listen %q: want a port from 1024 to 65535", p.Tool().Ref, words.Brief(text))
		}
		all = append(all, uint16(n))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Own reports whether the plan's program has a network of its own at a tier, which leads only to
// hosts that its needs name. Below S3, and for every host ("*"), it has the machine's.
func (p *Plan) Own(tier primitive.Tier) bool {
	named := slices.DeleteFunc(slices.Clone(p.Net()), func(h string) bool { return h == "unix" })
	return tier >= primitive.S3 && len(named) > 0 && !slices.Contains(named, "*")
}

// NetworkFiles returns the files of the user's network settings, to be materialised with the plan's
// own.
func (p *Plan) NetworkFiles(found network.Found) (files []primitive.File) {
	for _, s := range found.Admitted(p.Net()) {
		for _, f := range s.Files { // several variables can name one
			if !slices.ContainsFunc(files, func(g primitive.File) bool { return g.Path == f.Path }) {
				files = append(files, f)
			}
		}
	}
	return files
}

// admit opens the ports of the user's proxies and mirrors to a plan.
func (p *Plan) admit(b *primitive.Sandbox, in Inputs) {
	for _, s := range in.Network.Admitted(p.Net()) {
		if b.Ports != nil { // else every port is open
			b.Ports = append(b.Ports, s.Ports()...)
		}
		for _, h := range s.Hosts {
			if len(b.Hosts) > 0 && !slices.Contains(b.Hosts, h) {
				b.Hosts = append(b.Hosts, h)
			}
		}
	}
	slices.Sort(b.Ports)
	b.Ports = slices.Compact(b.Ports)
}

// networkVars returns the variables of the user's network settings, without those that an item
// sets. The case of a name makes no difference: programs read both spellings of a proxy.
func (p *Plan) networkVars(in Inputs, env map[string]string) map[string]string {
	out := map[string]string{}
	set := func(name string) bool {
		for k := range env {
			if strings.EqualFold(k, name) {
				return true
			}
		}
		return false
	}
	for _, s := range in.Network.Admitted(p.Net()) {
		for name, v := range s.Vars {
			if !set(name) {
				out[name] = v
			}
		}
		for name, path := range s.Paths {
			if in.RunDir != "" && !set(name) {
				out[name] = filepath.Join(in.RunDir, filepath.FromSlash(path))
			}
		}
	}
	return out
}
