package mcp

import (
	"sync"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// maxProjects bounds how many projects one server keeps open.
const maxProjects = 64

// projects are those that calls named by project_path, opened on demand. An open
// project holds no files and no locks, so forgetting one costs nothing.
type projects struct {
	open func(path string) (rye.Verbs, error)
	mu   sync.Mutex
	have map[string]rye.Verbs
}

func (p *projects) at(path string) (rye.Verbs, error) {
	if len(path) > 4096 {
		return nil, fault.New(fault.Usage, "project_path: %d bytes, want a directory", len(path))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.have[path]; ok {
		return v, nil
	}
	v, err := p.open(path)
	if err != nil {
		return nil, err
	}
	if p.have == nil || len(p.have) >= maxProjects {
		p.have = map[string]rye.Verbs{}
	}
	p.have[path] = v
	return v, nil
}
