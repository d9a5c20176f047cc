package kernel

import "strconv"

var kindNames = [kinds]string{
	"other", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float32", "float64", "complex64", "complex128",
}

var codeNames = [codes]string{"Sum", "Prod", "Min", "Max", "LAnd", "LOr", "LXor", "BAnd", "BOr", "BXor"}

// String returns the name of the predeclared Go type of this kind, or "other".
func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// String returns the operator's name as package collectives spells it.
func (c Code) String() string {
	if c < codes {
		return codeNames[c]
	}
	return "operator " + strconv.Itoa(int(c))
}
