/* Sets what each process of the game may take, for this process and all that it starts. */
void setResourceLimits(void);
