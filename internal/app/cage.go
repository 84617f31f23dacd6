package app

import (
	"path/filepath"

	"github.com/rye-os/rye/chain/primitive"
	"github.com/rye-os/rye/internal/build"
)

// cage finds the program that is the first of a sandbox, beside this one. Where
// there is none, runs are confined without namespaces, and say so.
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
