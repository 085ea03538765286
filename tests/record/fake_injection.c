/* fake_injection.c - a library with the functions of libheddle-cuda.so that do nothing: a test double */
int InitializeInjection(void);
int InitializeInjectionNvtx2(void *get);

int InitializeInjection(void)
{
    return 1;
}

int InitializeInjectionNvtx2(void *get)
{
    return get != 0;
}
