package main

import "github.com/tropica-fst/tropica/cmd/internal/flags"

// flagWords are names that XGBoost, LightGBM, scikit-learn and others have for what a flag here
// means. They are suggested where a command has the flag, and not taken: what is alike by name may
// differ in scale.
var flagWords = flags.Synonyms{
	"learning_rate": {"rate"}, "lr": {"rate"}, "eta": {"rate"}, "shrinkage": {"rate"},
	"step_size":    {"rate", "step"},
	"n_estimators": {"rounds"}, "num_rounds": {"rounds"}, "num_round": {"rounds"}, "num_boost_round": {"rounds"},
	"nrounds": {"rounds"}, "n_rounds": {"rounds"},
	"num_trees": {"rounds"}, "n_trees": {"rounds"}, "trees": {"rounds"},
	"num_iterations": {"rounds", "iterations"}, "n_iter": {"rounds", "iterations"},
	"max_iter": {"rounds", "iterations"}, "max_iterations": {"rounds", "iterations"}, "iterations": {"rounds"},
	"rounds": {"iterations"}, "epochs": {"iterations", "steps", "rounds"},
	"max_depth": {"depth", "splits"}, "depth": {"splits"}, "num_leaves": {"leaves", "splits"},
	"max_leaves": {"leaves", "splits"}, "max_leaf_nodes": {"leaves", "splits"},
	"early_stopping": {"patience"}, "early_stopping_rounds": {"patience"}, "early_stopping_round": {"patience"},
	"n_iter_no_change": {"patience"},
	"min_child_weight": {"min_weight", "min_hessian"}, "min_sum_hessian_in_leaf": {"min_weight", "min_hessian"},
	"min_samples_leaf": {"min_rows"}, "min_data_in_leaf": {"min_rows"}, "min_child_samples": {"min_rows"},
	"min_split_loss": {"gamma", "min_gain"}, "min_gain_to_split": {"gamma", "min_gain"},
	"min_split_gain": {"gamma", "min_gain"},
	"subsample":      {"rows"}, "bagging_fraction": {"rows"}, "colsample": {"columns"},
	"colsample_bytree": {"columns"}, "feature_fraction": {"columns"}, "max_features": {"columns"},
	"colsample_bylevel": {"columns_by_level"}, "colsample_bynode": {"columns_by_node"},
	"feature_fraction_bynode": {"columns_by_node"},
	"reg_lambda":              {"l2", "lambda"}, "lambda_l2": {"l2", "lambda"},
	"l2_regularization": {"l2", "lambda"}, "weight_decay": {"l2"}, "lambda": {"l2", "lambdas"}, "c2": {"l2"},
	"alpha": {"l2", "l1"}, "penalty": {"l2", "l1"}, "ridge": {"l2"}, "lasso": {"l1"}, "reg_alpha": {"l1"},
	"lambda_l1": {"l1"}, "l1_regularization": {"l1"}, "c1": {"l1"},
	"max_bin": {"bins"}, "max_bins": {"bins"}, "n_bins": {"bins"}, "border_count": {"bins"},
	"random_state": {"seed"}, "random_seed": {"seed"}, "rng": {"seed"},
	"n_jobs": {"workers"}, "jobs": {"workers"}, "j": {"workers"}, "threads": {"workers"}, "nthread": {"workers"},
	"nthreads": {"workers"}, "n_threads": {"workers"}, "num_threads": {"workers"}, "num_workers": {"workers"},
	"objective": {"loss", "losses"}, "criterion": {"loss", "objective"}, "loss_function": {"loss", "losses"},
	"loss":  {"objective", "losses"},
	"label": {"target"}, "labels": {"target", "label"}, "label_column": {"target", "label"}, "class": {"target"},
	"response": {"target"}, "outcome": {"target"}, "y": {"target"}, "dependent": {"target"},
	"target_column": {"target"},
	"sample_weight": {"weight"}, "weights": {"weight"}, "weight_column": {"weight"},
	"monotone_constraints": {"monotone"},
	"validation":           {"valid", "heldout"}, "valid_set": {"valid", "heldout"},
	"valid_data": {"valid", "heldout"}, "eval_set": {"valid", "heldout"}, "dev": {"valid", "heldout"},
	"test": {"valid", "heldout"}, "holdout": {"valid", "heldout"},
	"categorical_feature": {"categorical"}, "cat_features": {"categorical"},
	"categorical_features": {"categorical"}, "ignore": {"drop"}, "ignore_columns": {"drop"}, "exclude": {"drop"},
	"domain": {"source"}, "group": {"source"}, "noheader": {"no_header"}, "delimiter": {"separator"},
	"sep": {"separator"}, "na_values": {"missing"},
	"output": {"predictions", "model"}, "out": {"predictions", "model"}, "o": {"predictions", "model"},
	"save": {"model"}, "model_file": {"model"}, "model_out": {"model"}, "m": {"model"}, "load": {"model"},
	"history": {"csv"}, "log": {"csv"}, "report": {"json"}, "figure": {"plot"},
	"picture": {"plot"}, "svg": {"plot"},
	"k": {"folds"}, "k_fold": {"folds"}, "kfold": {"folds"}, "cv": {"folds"}, "n_splits": {"folds"},
	"num_folds": {"folds"}, "nfold": {"folds"}, "param_grid": {"grid"}, "params": {"grid"},
	"batch_size": {"batch"}, "minibatch": {"batch"}, "optimizer": {"solver"}, "solver": {"optimizer"},
	"algorithm": {"solver", "variant"}, "features": {"templates"}, "template": {"templates"},
	"tolerance": {"stop"}, "tol": {"stop"}, "epsilon": {"stop"},
	"nbest": {"decode"}, "continue": {"resume"}, "restart": {"resume"}, "snapshot": {"checkpoint"},
}

// newFlags returns a set whose errors know flagWords.
func newFlags() *flags.Set {
	fs := flags.New()
	fs.Synonyms(flagWords)
	return fs
}

// groupWords and verbWords are such names of what a command line begins with.
var (
	groupWords = flags.Synonyms{
		"xgboost": {"gb"}, "xgb": {"gb"}, "lightgbm": {"gb"}, "lgbm": {"gb"}, "catboost": {"gb"}, "gbm": {"gb"},
		"gbdt": {"gb"}, "gbrt": {"gb"}, "trees": {"gb"}, "forest": {"gb"}, "boost": {"gb"}, "boosting": {"gb"},
		"gradientboosting": {"gb"}, "logitboost": {"adaboost"}, "deepboost": {"adaboost"}, "ada": {"adaboost"},
		"ridge": {"linear"}, "lasso": {"linear"}, "elasticnet": {"linear"}, "logistic": {"linear"},
		"logit": {"linear"}, "glm": {"linear"}, "regression": {"linear"}, "softmax": {"linear"},
		"huber": {"linear"},
		"crf":   {"sequence"}, "tagger": {"sequence"}, "tagging": {"sequence"}, "tag": {"sequence"},
		"ner": {"sequence"}, "pos": {"sequence"}, "labeller": {"sequence"}, "seq": {"sequence"},
		"pronunciation": {"g2p"}, "phonetisaurus": {"g2p"}, "track": {"tracking"}, "tracker": {"tracking"},
		"cells": {"tracking"}, "cell": {"tracking"}, "lineage": {"tracking"}, "grapheme": {"g2p"},
		"lexicon": {"g2p"}, "domains": {"multiboost"}, "multisource": {"multiboost"}, "agnostic": {"almo"},
		"multiloss": {"almo"},
	}
	verbWords = flags.Synonyms{
		"fit": {"train"}, "learn": {"train"}, "build": {"train"}, "training": {"train"}, "test": {"eval"},
		"evaluate": {"eval"}, "evaluation": {"eval"}, "score": {"eval"}, "validate": {"eval"}, "measure": {"eval"},
		"apply": {"predict"}, "infer": {"predict"}, "inference": {"predict"}, "decode": {"predict"},
		"label": {"predict"}, "tag": {"predict"}, "classify": {"predict"}, "run": {"predict"},
		"crossvalidate": {"cv", "compare"}, "cross_validate": {"cv", "compare"},
		"crossvalidation": {"cv", "compare"}, "cross_validation": {"cv", "compare"}, "xval": {"cv", "compare"},
		"tune": {"cv", "compare"}, "search": {"cv", "compare"}, "compare": {"cv"}, "cv": {"compare"},
		"inspect": {"explain"}, "describe": {"explain"}, "importance": {"explain"}, "importances": {"explain"},
		"show": {"explain"}, "info": {"explain"}, "dump": {"explain", "export"}, "load": {"import"},
		"save": {"export"}, "convert": {"export"}, "plot": {"curve", "explain"},
	}
)
