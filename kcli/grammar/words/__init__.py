"""The words that Kafka's grammars consist of: scalars, varints, arrays, structs, tagged fields."""
