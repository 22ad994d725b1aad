"""The forms of a records field in JSON and tables: how much of it they show."""

BATCH_FORMS = ("none", "batches", "full")  # only the size; batches; batches with their records
FIELD_FORMS = (*BATCH_FORMS, "raw")  # base64
