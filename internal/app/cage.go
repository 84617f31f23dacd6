package app

import (
	"path/filepath"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/build"
)

// cage finds the program beside this one that is the first process of a sandbox.
// Without it, runs have no namespaces, and report so.
func (a *App) cage() primitive.Cage {
	path, err := beside(cageName)
	if err != nil {
		return primitive.Cage{}
	}
	self, err := resolved()
	if err != nil {
		return primitive.Cage{}
	}
	c := primitive.Cage{Program: path, Build: build.This().ID, Keep: filepath.Base(self) == engineName+exeSuffix()}
	if a.Cache != "" {
		c.Memo = filepath.Join(a.Cache, "namespaces")
	}
	return c
}
