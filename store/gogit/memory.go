package gogit

import (
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/storage"
	inmemory "github.com/go-git/go-git/v5/storage/memory"
)

// memory holds the parts of a repository that go-git wants to keep and rye does not. Each
// method locks. The callers of Config and Index share their result, as with go-git's own
// storages.
type memory struct {
	mu      sync.Mutex
	config  inmemory.ConfigStorage
	index   inmemory.IndexStorage
	shallow []plumbing.Hash
	modules inmemory.ModuleStorage
}

// Config returns the configuration of this Storage, empty at first.
func (m *memory) Config() (*config.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config.Config()
}

// SetConfig keeps a configuration in memory.
func (m *memory) SetConfig(c *config.Config) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config.SetConfig(c)
}

// Index returns the index of this Storage, empty at first.
func (m *memory) Index() (*index.Index, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index.Index()
}

// SetIndex keeps an index in memory.
func (m *memory) SetIndex(i *index.Index) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index.SetIndex(i)
}

// Shallow returns the ids given to SetShallow. The repository itself is never shallow.
func (m *memory) Shallow() ([]plumbing.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.shallow), nil
}

// SetShallow keeps the ids of shallow commits in memory.
func (m *memory) SetShallow(commits []plumbing.Hash) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shallow = slices.Clone(commits)
	return nil
}

// Module returns a storage in memory for the submodule name.
func (m *memory) Module(name string) (storage.Storer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.modules.Module(name)
}
