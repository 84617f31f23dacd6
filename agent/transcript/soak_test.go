package transcript

import "os"

// soak reports whether the long versions of tests are asked for (make soak).
func soak() bool { return os.Getenv("RYE_SOAK") != "" }
