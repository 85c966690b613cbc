export declare function retiredTermsIn(text: string): { line: number; name: string; say: string }[];
