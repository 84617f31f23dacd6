package app

import "golang.org/x/sys/windows"

// hush turns the echo of a console off. restore resets the console to its earlier state.
func hush(fd int) (restore func(), err error) {
	var was uint32
	if err := windows.GetConsoleMode(windows.Handle(fd), &was); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(windows.Handle(fd), was&^windows.ENABLE_ECHO_INPUT); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(windows.Handle(fd), was) }, nil
}
