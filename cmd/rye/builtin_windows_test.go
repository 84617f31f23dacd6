package main_test

func (h *home) makeOrdinary() {}
