package main

import "github.com/tropica-fst/tropica/cmd/internal/flags"

// flagWords are names that other programs and releases have for what a flag here means. They are
// suggested where a tool has the flag, and not taken.
var flagWords = flags.Synonyms{
	"input_symbols": {"isymbols", "symbols"}, "output_symbols": {"osymbols", "symbols"},
	"in_symbols": {"isymbols", "symbols"}, "out_symbols": {"osymbols", "symbols"}, "symbols": {"isymbols"},
	"symbol_table": {"symbols", "isymbols"}, "isyms": {"isymbols"}, "osyms": {"osymbols"},
	"semiring": {"arc_type"}, "weight_type": {"arc_type"}, "arctype": {"arc_type"},
	"type": {"arc_type", "fst_type", "format", "sort_type", "project_type", "closure_type", "map_type",
		"reweight_type", "info_type"},
	"filter": {"compose_filter"}, "sort": {"sort_type"}, "sort_by": {"sort_type"},
	"side": {"project_type", "sort_type"}, "output": {"project_output"},
	"n": {"nshortest", "npath"}, "nbest": {"nshortest", "npath"}, "n_best": {"nshortest"},
	"num_paths": {"nshortest", "npath"}, "npaths": {"npath", "nshortest"}, "paths": {"npath", "nshortest"},
	"count": {"npath"}, "max_len": {"max_length"},
	"beam": {"weight"}, "threshold": {"weight"}, "prune": {"weight"}, "tolerance": {"delta"}, "tol": {"delta"},
	"eps": {"delta"}, "epsilon": {"delta"},
	"threads": {"workers"}, "num_threads": {"workers"}, "nthreads": {"workers"}, "jobs": {"workers"},
	"j":          {"workers"},
	"max_states": {"limit_states"}, "max_arcs": {"limit_arcs"}, "max_memory": {"limit_bytes"},
	"memory": {"limit_bytes"}, "memory_limit": {"limit_bytes"}, "time_limit": {"timeout"},
	"max_time":    {"timeout"},
	"random_seed": {"seed"}, "random_state": {"seed"}, "acceptors": {"acceptor"}, "verbose": {"v"},
	"unk": {"unknown_symbol"}, "unknown": {"unknown_symbol"}, "unk_symbol": {"unknown_symbol"}, "key": {"keys"},
}

// toolWords are what libraries and other toolkits call what a tool does.
var toolWords = flags.Synonyms{
	"inverse": {"invert"}, "rmeps": {"rmepsilon"}, "remove_epsilon": {"rmepsilon"},
	"remove_epsilons": {"rmepsilon"}, "epsilon_removal": {"rmepsilon"}, "determinise": {"determinize"},
	"minimise": {"minimize"}, "synchronise": {"synchronize"},
	"subtract": {"difference"}, "minus": {"difference"}, "and": {"intersect"}, "or": {"union"},
	"disjunct": {"union"}, "star": {"closure"}, "kleene": {"closure"}, "repeat": {"closure"},
	"concatenate": {"concat"},
	"nbest":       {"shortestpath"}, "best": {"shortestpath"}, "best_path": {"shortestpath"},
	"viterbi": {"shortestpath"}, "trim": {"connect"}, "dot": {"draw"}, "view": {"draw"}, "plot": {"draw"},
	"svg": {"draw"}, "graph": {"draw"},
	"random": {"randgen"}, "sample": {"randgen"}, "generate": {"randgen"}, "sort": {"arcsort"},
	"stats": {"info"}, "summary": {"info"}, "text": {"print"}, "dump": {"print"}, "cat": {"print"},
	"parse": {"compile"}, "read": {"compile"},
	"apply": {"compose"}, "lookup": {"compose"}, "same": {"equal"}, "diff": {"equal"}, "cmp": {"equal"},
	"equivalence": {"equivalent"}, "verify": {"check"}, "validate": {"check"}, "forward": {"shortestdistance"},
	"backward": {"shortestdistance"}, "potentials": {"shortestdistance"},
	"relabelling": {"relabel"}, "rename": {"relabel"}, "pipeline": {"run"}, "pipe": {"run"}, "why": {"explain"},
	"install": {"links"},
}
