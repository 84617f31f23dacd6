package app

import (
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
)

// Settings lists the settings that come from environment variables, with their defaults.
func Settings(a *App) []rye.Setting {
	all := []rye.Setting{
		a.variable("key", "default", "RYE_KEY"),
		a.variable("user", a.User, "RYE_USER", "USER_SPACE"),
		color(a),
	}
	for _, name := range interpreterNames {
		all = append(all, a.variable(strings.ToLower(strings.TrimPrefix(name, "RYE_")), "", name))
	}
	for _, place := range []struct{ name, path, variable string }{
		{"config-dir", a.Config, "XDG_CONFIG_HOME"}, {"data-dir", a.Data, "XDG_DATA_HOME"}, {"state-dir", a.State, "XDG_STATE_HOME"}, {"cache-dir", a.Cache, "XDG_CACHE_HOME"},
	} {
		s := a.variable(place.name, place.path, place.variable)
		s.Value = place.path
		all = append(all, s)
	}
	return all
}

// color returns the setting for colours. Any value of NO_COLOR turns them off.
func color(a *App) rye.Setting {
	s := a.variable("color", map[bool]string{true: "on", false: "off"}[a.Screen.Color && !a.NoColor], "NO_COLOR")
	s.Change = fault.Advice("to turn colours off: export NO_COLOR=1; on: unset NO_COLOR")
	return s
}

// variable returns a setting from the first of these variables that is set.
func (a *App) variable(setting, otherwise string, names ...string) rye.Setting {
	s := rye.Setting{Name: setting, Value: otherwise, Origin: "default", Change: fault.Advice("export %s=<value>", names[0])}
	for _, name := range names {
		if v := a.getenv(name); v != "" {
			s.Origin = name
			if setting != "color" && setting != "user" {
				s.Value = v
			}
			return s
		}
	}
	return s
}
