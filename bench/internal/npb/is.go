package npb

import (
	"fmt"

	"github.com/gorun-hpc/gorun/collectives"
	"github.com/gorun-hpc/gorun/runtime"
)

const (
	isIterations = 10
	isTests      = 5 // number of keys whose place in the sorted sequence is verified in each iteration
	isTag        = 1 // tag of messages with keys
)

// isProblem is a row of the class table of IS (is.c): 2^log2Keys keys below 2^log2Max in 2^log2Buckets
// buckets. The rank of a key is its place in the sorted sequence. In iteration n, the key at the global
// position testIndex[i] must have the rank testRank[i] + drift(i, n).
type isProblem struct {
	log2Keys, log2Max, log2Buckets int
	testIndex, testRank            [isTests]int
	drift                          func(i, n int) int
}

var isProblems = map[Class]isProblem{
	"S": {
		16, 11, 9,
		[isTests]int{48427, 17148, 23627, 62548, 4431},
		[isTests]int{0, 18, 346, 64917, 65463},
		func(i, it int) int { return signed(i <= 2, it) },
	},
	"W": {
		20, 16, 10,
		[isTests]int{357773, 934767, 875723, 898999, 404505},
		[isTests]int{1249, 11698, 1039987, 1043896, 1048018},
		func(i, it int) int {
			if i < 2 {
				return it - 2
			}
			return -it
		},
	},
	"A": {
		23, 19, 10,
		[isTests]int{2112377, 662041, 5336171, 3642833, 4250760},
		[isTests]int{104, 17523, 123928, 8288932, 8388264},
		func(i, it int) int { return signed(i <= 2, it-1) },
	},
	"B": {
		25, 21, 10,
		[isTests]int{41869, 812306, 5102857, 18232239, 26860214},
		[isTests]int{33422937, 10244, 59149, 33135281, 99},
		func(i, it int) int { return signed(i == 1 || i == 2 || i == 4, it) },
	},
}

// signed returns n, or -n if positive is false.
func signed(positive bool, n int) int {
	if positive {
		return n
	}
	return -n
}

// IS computes the ranks of integer keys, which are their places in the sorted sequence. Each rank of
// the communicator counts its keys by bucket, and sends each key to the rank that owns the bucket. The
// owner counts the keys by value. The number of ranks must be a power of two, at most the number of buckets.
func IS(c *runtime.Comm, class Class) (*Report, error) {
	problem, ok := isProblems[class]
	if !ok {
		return nil, fmt.Errorf("npb: IS has no class %q", class)
	}
	if err := powerOfTwo("IS", c.Size(), 1<<problem.log2Buckets); err != nil {
		return nil, err
	}
	k := newKeys(c, problem)
	// One untimed ranking touches all memory and all connections.
	if _, err := k.rank(1); err != nil {
		return nil, err
	}
	var passed int64
	took, err := timed(c, func() error {
		for it := 1; it <= isIterations; it++ {
			n, err := k.rank(it)
			if err != nil {
				return err
			}
			passed += int64(n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ordered, err := k.verify()
	if err != nil {
		return nil, err
	}
	total := []int64{0, 0}
	if err := collectives.AllReduce(c, []int64{passed, ordered}, total, collectives.Sum); err != nil {
		return nil, err
	}
	n := 1 << problem.log2Keys
	return &Report{
		Kernel: "IS", Class: class, Size: fmt.Sprint(n), Iterations: isIterations, Ranks: c.Size(),
		Time: took, Mops: float64(isIterations) * float64(n) / took.Seconds() / 1e6, Operation: "keys ranked",
		Values: []Value{
			{"ranks of keys", float64(total[0]), isTests * isIterations, 0},
			{"keys in order", float64(total[1]), float64(n), 0},
		},
	}, nil
}

// powerOfTwo returns an error if a kernel cannot run on size ranks. size must be a power of two, as the
// reference codes of all kernels except EP and LU require. size must also not exceed the argument most, which is the
// largest number of ranks among which the kernel can divide the problem.
func powerOfTwo(kernel string, size, most int) error {
	if size < 1 || size&(size-1) != 0 {
		return fmt.Errorf("npb: the number of ranks of %s must be a power of two, not %d", kernel, size)
	}
	if size > most {
		return fmt.Errorf("npb: %s of this class runs on at most %d ranks, not %d", kernel, most, size)
	}
	return nil
}
