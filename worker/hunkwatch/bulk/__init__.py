"""Scores whole exports without a server: files in, Parquet out, with the same core as the worker.

Two stages, since a trace spans files: ``harvest`` reads each file once and keeps its calls; ``settle`` puts traces together and scores
them. A file that was harvested is not read again, so an interrupted run goes on where it stopped. ``engines`` runs both on this machine
or on a Ray cluster. Needs the extra ``bulk``; knows no network but what fsspec opens.
"""
