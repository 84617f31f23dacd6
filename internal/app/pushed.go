package app

import "path/filepath"

// Pushed returns the repository in which git runs a hook, and the directory with the pushed
// objects until the hook accepts them; both are "" outside a hook.
func (a *App) Pushed() (repo, objects string) {
	if repo = a.getenv("GIT_DIR"); repo == "" {
		return "", ""
	}
	if objects = a.getenv("GIT_OBJECT_DIRECTORY"); objects == "" {
		objects = filepath.Join(repo, "objects")
	}
	return a.Path(repo), a.Path(objects)
}
