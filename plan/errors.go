package plan

// InputError is input that no decision can be made from: a configuration that contradicts
// the catalogue, or a subject that does not exist. The user can mend it; every other error
// of this package is a bug.
type InputError struct{ Err error }

// Error is what is wrong, and with which field or name.
func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap is the error of the package that found it.
func (e *InputError) Unwrap() error { return e.Err }

// SubjectError says that nothing can be explained under a name. It comes inside an
// InputError, and lies in what was asked rather than in the configuration.
type SubjectError struct {
	Subject string
	// Text is the whole message, with near names where there are any.
	Text string
}

// Error is the message.
func (e *SubjectError) Error() string { return e.Text }
