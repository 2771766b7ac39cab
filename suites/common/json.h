/* JSON on stdout. */
#ifndef FATHOMP_JSON_H
#define FATHOMP_JSON_H

/* A string with its quotes. */
void json_string(const char *text);
/* ,"name":[1,2] with three decimals. */
void json_array(const char *name, const double *numbers, long count);
/* ,"name":[1,2] of a list that ends with 0. */
void json_list(const char *name, const long *numbers);
/* ,"name":1 or ,"name":null if the number is 0. */
void json_or_null(const char *name, double number);

#endif
