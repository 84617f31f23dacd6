package main

import (
	"path/filepath"
	"sync"

	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/search/fulltext"
	"github.com/rye-os/rye/workspace"
)

var index struct {
	once sync.Once
	*fulltext.Index
}

// words returns the index of this process, shared by all projects.
func words(a *app.App) workspace.Index {
	index.once.Do(func() {
		dir := ""
		if a.Cache != "" {
			dir = filepath.Join(a.Cache, "search")
		}
		index.Index = fulltext.New(dir)
	})
	return index.Index
}

// written waits for index files that are being written: exiting would leave them incomplete.
func written() {
	if index.Index != nil {
		index.Wait()
	}
}
