// Command learn trains sequence models on the loss that they are judged by, and
// boosts trees on tables.
//
//	learn sequence train|predict|eval|compare|explain  labellers of sequences: CoNLL columns, CoNLL-U
//	learn g2p train|predict|eval|cv|explain      from spelling to pronunciation
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
//	learn rgb cv train.csv --target class --grid "rate=0.1,0.3 columns=0.3,1" --versus "gb depth=2,4,6 rate=0.1,0.3"
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
//
// # Figures
//
// The sample of English EWT in testdata has 500 sentences to train on, 100 of which choose the
// constants, and 300 to test on:
//
//	learn sequence compare testdata/ud-english-ewt-sample/train.conllu.gz --test testdata/ud-english-ewt-sample/test.conllu.gz
//
// The table has errors in per cent of tokens and of sentences, and the paired tests of the tokens
// and of the edits against cross-entropy. Every objective chose the least l2 of its list:
//
//	               tokens / sentences  p (tokens)  p (edits)
//	cross-entropy  11.38 / 60.00
//	Hamming        11.07 / 58.67       .063        .077
//	bigrams        11.41 / 60.33       .56         .56
//	edit           11.05 / 58.33       .039        .048
//
// One p of .039 among three is not significant: at this size the objectives are alike.
//
// The task is native sequences of 50 residues from four homologs and a decoy each. A perfect
// prediction scores 50; package cmd/learn/internal/experiment defines the task and says what the
// band costs:
//
//	learn experiment homologs
//
// The table has means over ten draws with their standard deviation, and the difference from
// cross-entropy with its paired t-test over the 2000 test sequences. It takes two minutes of
// processor time:
//
//	first homolog as it is        37.34
//	cross-entropy                 39.87 ± 0.20
//	Hamming margin                40.42 ± 0.24  +0.55 (p 2e-40)
//	Smith-Waterman margin         40.06 ± 0.22  +0.19 (p 1e-7)
//	Smith-Waterman expected loss  40.56 ± 0.19  +0.69 (p 6e-45)
//
// (The thesis, with a generator that it does not define: 42.73 and 44.65, ± 0.35.) Training on the
// Smith-Waterman loss helps, and most as the expected loss. Here the margin with the Hamming
// distance, which uses no alignment, helps more than the one with the loss itself. The band of 1 is
// the exact loss of 92% of the predictions, but the margin's sum over all labellings is far from
// exact there. Its log Z is 839 in the mean of ten sequences, with an estimated error of 19 (for
// the expected loss, 214 and 1.7).
//
// Adult (all of it is in testdata), a linear model for the four losses of the thesis at once:
//
//	learn experiment table51 --sets adult
//
// The table has the worst normalised training loss over three seeds, test error in per cent, and
// AUC. The gap of every model is below 5e-4: no linear model has a lower training objective,
// penalty included, by more than that:
//
//	robust (almo)          0.4816 ± 0.0002  19.4  .863
//	even mixture           0.5543 ± 0.0029  17.4  .880
//	1-norm alone           0.5220 ± 0.0000  21.7  .851
//	hinge alone            1.4189 ± 0.0033  14.7  .902
//	cross-entropy alone    2.3202 ± 0.0026  14.7  .906
//	robust, of regrets     0.5631 ± 0.0000  16.6  .888
//
// The robust model guards against a judge who counts only the 1-norm of scores, and that costs AUC.
// Measured from what each loss can reach alone (regrets) it does not.
//
// MNIST and Fashion-MNIST (--data DIR; 60,000 images, three seeds) are certified too. The robust
// models have 0.9725 and 0.9719, the even mixture 1.1434 and 1.1821, with gaps below 6.0e-4 and
// 4e-4. The 1-norm, the best single loss, has 1.9914 and 1.9291 and takes the longest (minutes).
// The networks (table52) have, robust and even: MNIST 0.8071 ± 0.0016 and 0.9617 ± 0.0008,
// Fashion-MNIST 0.8864 ± 0.0026 and 1.0801 ± 0.0187, Adult 0.4090 ± 0.0022 and 0.4314 ± 0.0005. No
// model of one loss is below 1.62, 1.74 and 0.438. `learn almo curve` draws the trade-off of two of
// the losses.
//
// Pronunciation combines cross-entropy and margins of wrong labels, of the edit distance and of
// bigrams of phones, on 800 words each of Icelandic and Greek. It takes two processor seconds:
//
//	learn experiment federated                   table B.1: boosting where the data are
//	learn experiment oneround                    classification in one round beside averaging
//	learn experiment objectives --languages ice,gre --words 800
//
// The table has the largest regret by word, the excess of an objective over what it reaches alone:
//
//	                      Icelandic  Greek
//	robust                0.217      0.110
//	even mixture          0.303      0.159
//	label margin alone    0.523      0.296
//	edit margin alone     0.594      0.292
//	bigram margin alone   0.848      0.445
//	cross-entropy alone   1.628      0.865
//
// `learn almo g2p` and `learn almo sequence` write such robust models.
//
// Tagging combines cross-entropy and margins of wrong labels, of the edit distance and of bigrams.
// It uses a third of English EWT (4181 sentences, universal parts of speech, tested on the 2077 of
// the test part). Each model is within 1e-3 of the best possible, in 137 processor seconds:
//
//	learn experiment federated                   table B.1: boosting where the data are
//	learn experiment oneround                    classification in one round beside averaging
//	learn experiment objectives --languages '' --train en_ewt-ud-train.conllu.gz \
//	    --test en_ewt-ud-test.conllu.gz --sentences 4181
//
// The table has regrets by sentence, and wrong tags in the test part:
//
//	                      cross-entropy  labels  edits  bigrams  largest  tags %
//	robust                0.181          0.180   0.179  0.138    0.181    7.07
//	even mixture          0.249          0.097   0.096  0.197    0.249    7.05
//	label margin alone    0.499          0       0      0.431    0.499    6.98
//	edit margin alone     0.499          0       0      0.431    0.499    6.98
//	bigram margin alone   0.014          1.033   1.029  0        1.033    7.34
//	cross-entropy alone   0              1.293   1.288  0.023    1.293    7.28
//
// Margins of wrong labels and of the edit distance are nearly one objective here, and so are
// cross-entropy and the margin of bigrams. The final mixture of the robust model gives bigrams no
// weight (0.61, 0.27, 0.12, 0). With a tenth (1255 sentences, 56 seconds) the largest regrets are
// 0.295, 0.403, 0.813, 0.811, 1.747 and 2.071. With all of EWT (12544 sentences, seven minutes)
// they are 0.152, 0.207, 0.429, 0.429, 0.826 and 1.046.
package main
