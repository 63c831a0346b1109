// Command learn trains sequence models on the loss that they are judged by, and
// boosts trees on tables.
//
//	learn sequence train|predict|eval|compare|explain  labellers of sequences: CoNLL columns, CoNLL-U
//	learn g2p train|predict|eval|cv|explain      from spelling to pronunciation
//	learn transduce train|predict|eval|cv|explain  strings that become strings, of a lexicon too
//	learn tracking simulate|train|predict|eval|cv|explain  cells of movies, by assignment
//	learn linear train|predict|eval|cv|explain   logistic and ridge regression of tables
//	learn resilient train|predict|eval|cv|explain  networks on data with wrong labels
//	learn rgb train|predict|eval|cv|explain      regularised gradient boosting
//	learn adaboost train|predict|eval|cv|explain AdaBoost, DeepBoost, LogitBoost
//	learn gb train|predict|eval|cv|explain       gradient boosting
//	learn multiboost train|predict|eval|cv|explain  one classifier for rows of several sources
//	learn almo train|predict|eval|cv|explain|curve  one model for many losses, of tables
//	learn almo g2p|sequence                      one model of pronunciation, or labeller, for many losses
//	learn oneround train|predict|eval|cv|explain    kernel classification by critical samples
//	learn federated config|simulate|agent|merge|verify|show|errors  learning where the data are
//	learn experiment homologs                    sequences judged by Smith-Waterman score
//	learn experiment sampled                     sampled gradients of an unbanded loss beside banded ones
//	learn experiment tracking                    ways to link cells of simulated and real movies
//	learn experiment table31                     boosters beside XGBoost, on the tables of the thesis
//	learn experiment table41                     MULTIBOOST and AdaBoost on several sources
//	learn experiment table51|table52             models robust to mixtures of four losses
//	learn experiment federated                   table B.1: boosting where the data are
//	learn experiment oneround                    classification in one round beside averaging
//	learn experiment resilient                   corrupted images, sentences and words, and how well they are found
//	learn experiment transduce                   losses of whole strings: inflection, spelling, letters
//	learn experiment g2p-networks                networks, ensembles and linear models of pronunciation
//	learn experiment objectives                  one sequence model for several objectives
//	learn completion bash|zsh|fish               a script that completes commands and flags
//	learn man                                    the manual page
//	learn --version                              the module's version, and the commit of the build
//
// `learn help GROUP VERB` lists flags with their defaults, and gives an example. Flags of both
// generations (-model m, --model=m, --nojson) may stand anywhere, and a hyphen in a name is
// equivalent to an underscore. The exit status is 0, or 1 for any error. A line ERROR: on standard
// error then says what is wrong, where (file, line, column), and what to do. When a reader closes
// the pipe the program ends silently, by SIGPIPE. Output files appear whole or not at all. Inputs
// may be compressed by gzip; - is standard input or output. Results depend on the data, the flags
// and --seed, not on --workers.
//
// # The main job
//
//	learn g2p cv --data testdata/g2p --languages ice,gre,ady
//
// compares three models on 1000 words each of Icelandic, Greek and Adyghe. They are a conditional
// random field (ce), the same with a margin of wrong labels (hamming: the control), and the model
// trained on its own edit distance to the right phones, over all alignments (latent). Five folds;
// each objective chooses its l2 and gamma on folds of the training words.
//
// The table has phone and word error rates in per cent, with tests against cross-entropy paired by
// word (t for edits, McNemar's for words). It takes 100 s of processor time:
//
//	                  cross-entropy  Hamming margin   latent margin
//	Icelandic (1000)  7.02 / 29.3    6.56 / 28.0      6.48 / 27.5
//	Greek (1000)      3.48 / 19.8    3.33 / 19.1      3.30 / 18.9
//	Adyghe (1000)     6.90 / 28.1    6.73 / 27.8      6.60 / 27.1
//	pooled (3000)     5.69 / 25.7    5.45 / 25.0      5.36 / 24.5
//	change of PER                    -4.4%            -5.8%
//	p, edits / words                 .0013 / .021     .00008 / .0003
//
// # Train your own
//
// Labels of tokens come from a file with one token a line and a blank line after each sentence.
// Columns are separated by blanks, and the label is last:
//
//	learn sequence train train.conll --model my.model --l2 1
//	learn sequence eval test.conll --model my.model
//	learn sequence predict new.conll --model my.model > labelled.conll
//
// This compares the edit distance (exact up to 8 tokens, within a band of 2 beyond), bigrams, and
// the Hamming distance. Each uses the l2 and gamma that do best on a fifth of the training
// sentences:
//
//	learn sequence train train.conll --objective softmax-margin --loss edit --band 2 --model edit.model
//	learn sequence compare train.conll --test test.conll --objectives cross-entropy,hamming,ngram,edit
//
// Pronunciations, from lines of a word, a tab, and phones separated by blanks:
//
//	learn g2p train words.tsv --model my.model
//	learn g2p eval test.tsv --model my.model
//	echo hestur | learn g2p predict --model my.model
//
// Tables come from CSV, TSV, LIBSVM or IDX files. The commands train with early stopping on other
// rows, predict, compare settings by nested cross-validation, and inspect a model (columns,
// margins, the generalisation bound):
//
//	learn rgb train train.csv --target class --valid valid.csv --patience 20 --model my.model
//	learn rgb predict new.csv --model my.model --output probabilities
//	learn rgb cv train.csv --target class --grid "rate=0.1,0.3" --versus "gb depth=2,4,6; linear l2=1,10"
//	learn rgb explain train.csv --model my.model --bounds --plot curve.svg
//	learn gb import xgboost.json --like train.csv --target class --model my.model
//	learn gb export --model my.model --to xgboost.json
//
// Tables of several sources, for one classifier that is good on any mixture of them;
// new rows need not say where they are from:
//
//	learn multiboost train train.csv --target class --source shop --model my.model
//	learn multiboost cv train.csv --target class --source shop --grid "mu=2,5,20"
//	learn multiboost explain train.csv --model my.model --bounds --picture q --plot q.svg
//
// On a terminal, standard error shows the progress of training. --csv keeps the history of the run
// (for comparisons, the table), --json makes a report for programs. Ctrl-C saves the state of the
// optimiser and says how to continue: with the same command and --resume. Stochastic solvers then
// continue exactly as if they had not been interrupted. L-BFGS continues from the point it had
// reached, but learns the curvature again, and says so. Boosters give the model of the unbroken
// run, byte for byte.
package main
