"""The words of Kafka's grammars: scalars, varints, arrays, structs, tagged fields."""
